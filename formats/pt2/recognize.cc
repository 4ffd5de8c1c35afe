// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/recognize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace cormorant::pt2 {
namespace {

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
  std::string_view advice;  // how to export if empty
};

using namespace std::string_view_literals;

constexpr std::array kSignatures = {
    Signature{4, "ET12", "an ExecuTorch program (.pte), which is compiled already", "run or inspect it instead"},
    Signature{4, "ET13", "an ExecuTorch program (.pte), which is compiled already", "run or inspect it instead"},
    Signature{4, "BP08", "a bundled ExecuTorch program (.bpte), which is compiled already",
              "run or inspect it instead"},
    Signature{4, "TFL3", "a TensorFlow Lite model", ""},
    Signature{0, "\x93NUMPY", "a NumPy array (.npy)", "give the model here; data goes to --calibrate or --input"},
    Signature{0, "\x89HDF", "an HDF5 file, such as Keras writes", ""},
    Signature{0, "GGUF", "a GGUF file", ""},
    Signature{0,
              "\x7f"
              "ELF",
              "an executable or a library", ""},
    Signature{0, "\x1f\x8b", "compressed by gzip", "unpack it with gunzip first"},
    Signature{0, "version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch it with 'git lfs pull'"},
    Signature{0, "<!DOCTYPE", "a web page", "download the file itself"},
    Signature{0, "<html", "a web page", "download the file itself"},
    Signature{0, "\x80\x02", "a pickle, such as torch.save wrote before PyTorch 1.6; pickles are never loaded", ""},
    Signature{0, "\x80\x03", "a pickle; pickles are programs and are never loaded", ""},
    Signature{0, "\x80\x04", "a pickle; pickles are programs and are never loaded", ""},
    Signature{0, "\x80\x05", "a pickle; pickles are programs and are never loaded", ""},
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Diagnostic foreign(std::string_view what, std::string_view advice) {
  return {.problem = fmt::format("this is not a .pt2 model but {}", what),
          .advice = advice.empty() ? kHowToExport : std::string(advice)};
}

// safetensors: the length of a JSON header in 8 bytes, then that header.
bool looks_like_safetensors(std::string_view text) { return text.size() > 10 && text.substr(5, 5) == "\0\0\0{\""sv; }

// ONNX: a protobuf message whose first field is ir_version, a small number, and whose second is a string.
bool looks_like_onnx(std::string_view text) {
  return text.size() > 4 && text[0] == '\x08' && text[1] > 0 && text[1] < 32 && text[2] == '\x12';
}

bool has_suffix(const std::vector<std::string>& names, std::string_view suffix) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.ends_with(suffix); });
}

}  // namespace

bool looks_like_zip(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  return text.starts_with("PK\3\4") || text.starts_with("PK\5\6");
}

Diagnostic diagnose_foreign_file(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  for (const Signature& signature : kSignatures) {
    if (text.size() >= signature.offset && text.substr(signature.offset).starts_with(signature.bytes)) {
      return foreign(signature.what, signature.advice);
    }
  }
  if (looks_like_safetensors(text)) return foreign("a safetensors file, which holds weights but no model", "");
  if (looks_like_onnx(text)) return foreign("an ONNX model", "");
  const std::string_view beginning = text.substr(0, 256);
  const bool readable = std::all_of(beginning.begin(), beginning.end(), [](char c) {
    return (c >= ' ' && c < 127) || c == '\n' || c == '\r' || c == '\t';
  });
  if (text.empty()) return foreign("an empty file", "");
  if (readable && beginning.front() == '{') return foreign("a JSON file", "");
  if (readable) return foreign("a text file", "");
  return foreign("something unknown (it does not begin as a zip archive does)", "");
}

Diagnostic diagnose_foreign_zip(const std::vector<std::string>& names) {
  const struct {
    std::string_view suffix;
    std::string_view what;
    std::string_view advice;
  } kinds[] = {
      {"serialized_exported_program.json",
       "an archive of torch.export from before PyTorch 2.8, whose weights are pickles and are never loaded", ""},
      {"/constants.pkl", "a TorchScript archive (torch.jit.save), which holds pickles and is never loaded",
       "export the model itself instead: "},
      {"/data.pkl", "an archive of torch.save, which holds pickles and no graph",
       "load it into the model in Python, then "},
      {".npy", "a zip of NumPy arrays (.npz)", "give the model here; data goes to --calibrate or --data"},
      {"AndroidManifest.xml", "an Android application", ""},
      {"model.weights.h5", "a Keras model", ""},
  };
  for (const auto& kind : kinds) {
    if (!has_suffix(names, kind.suffix)) continue;
    std::string advice(kind.advice);
    if (advice.ends_with(' ')) advice += kHowToExport;
    return foreign(kind.what, advice);
  }
  return foreign("a zip archive of another kind (it has no archive_format entry)", "");
}

}  // namespace cormorant::pt2
