// SPDX-License-Identifier: Apache-2.0
#include "program/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/diagnostic.h"
#include "runner/process.h"
#include "runner/tree.h"

namespace cormorant {

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw InputError({"this is a folder, not a file", "name a file in it", path.string()});
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw InputError({fmt::format("cannot read the file: {}", std::strerror(errno)), "check its name", path.string()});
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw InputError({"cannot read the whole file", "check its name", path.string()});
  return bytes;
}

void require_other_file(const NamedFile& output, const std::vector<NamedFile>& inputs) {
  namespace fs = std::filesystem;
  if (output.path.empty()) return;
  for (const NamedFile& input : inputs) {
    if (input.path.empty()) continue;
    std::error_code ignored;  // one that is not there is not the other
    const bool is_regular = fs::is_regular_file(output.path, ignored);
    const bool same = fs::absolute(output.path).lexically_normal() == fs::absolute(input.path).lexically_normal();
    if (!same && !(is_regular && fs::equivalent(output.path, input.path, ignored))) continue;
    throw UsageError(fmt::format("{} {} would overwrite {}\n  choose another name", output.option, output.path,
                                 input.option.empty() ? "what it is made from" : input.option));
  }
}

FileKind kind_of(const std::string& path) {
  std::array<char, 8> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  const std::string_view identifier(head.data() + 4, 4);  // where flatbuffers have it
  if (identifier == "BP08") return FileKind::bundle;
  if (identifier == "ET12") return FileKind::program;
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".bpte" ? FileKind::bundle : extension == ".pte" ? FileKind::program : FileKind::model;
}

namespace {

// ExecuTorch's names of models, which the Python package exports (python/cormorant/models.py).
constexpr std::array<std::string_view, 9> kExported = {"dl3",      "ic3",      "linear",  "mv2", "mv3",
                                                       "resnet18", "resnet50", "softmax", "vit"};

// The others, whose models are not in torchvision.
constexpr std::string_view kElsewhere =
    " add add_mul conv1d deep_autoencoder deit_tiny ds_cnn edsr efficient_sam emformer_join "
    "emformer_predict emformer_transcribe ic4 llama llama2 llama3_2_vision_encoder llava lstm mobilebert "
    "mobilenet_v1_025 mul phi_4_mini qadd qadd2 qops qwen2_5_1_5b qwen3 resnet8 sdpa smollm2 smolvlm w2l "
    "whisper yolo26 ";

bool is_exported(std::string_view name) {
  constexpr std::string_view kUntrained = "_untrained";
  if (name.ends_with(kUntrained)) name.remove_suffix(kUntrained.size());
  return std::ranges::find(kExported, name) != kExported.end();
}

// By PyTorch, in a folder that goes with the process.
std::string export_model(const std::string& name) {
  static const TemporaryDirectory folder;
  const char* const given = std::getenv("CORMORANT_PYTHON");
  const std::string python = given != nullptr ? given : "python3";
  const std::string file = (folder.path() / (name + ".pt2")).string();
  if (std::filesystem::exists(file)) return file;
  fmt::print(stderr, "exporting {} with {}\n", name, python);
  const ProcessResult result = run_process({python, "-m", "cormorant", "export", name, file},
                                           std::filesystem::current_path(), std::chrono::minutes(30));
  if (result.succeeded()) return file;
  throw UsageError(fmt::format(
      "{} has to be exported by PyTorch, which is not available: {} says\n{}\n  install the Python package and "
      "PyTorch (pip install . "
      "torch torchvision; CORMORANT_PYTHON names the interpreter), or give a .pt2",
      name, python, result.not_found ? "nothing: it is not installed" : result.output));
}

}  // namespace

std::string find_model(const std::string& name) {
  const std::filesystem::path path(name);
  if (std::filesystem::exists(path) || path.has_extension() || path.has_parent_path()) return name;
  const std::filesystem::path zoo = find_zoo();
  std::vector<std::string> models;
  std::error_code ignored;  // no zoo, no names
  for (const auto& entry : std::filesystem::directory_iterator(zoo, ignored)) {
    if (entry.path().extension() == ".pt2") models.push_back(entry.path().stem().string());
  }
  if (std::ranges::find(models, name) != models.end()) return (zoo / (name + ".pt2")).string();
  if (is_exported(name)) return export_model(name);
  if (kElsewhere.find(" " + name + " ") != std::string_view::npos) {
    throw UsageError(
        fmt::format("'{}' is a model of ExecuTorch's examples, which is not in torchvision: there is nothing here to "
                    "export it from\n  export it where ExecuTorch is installed (torch.export.save), and give the .pt2",
                    name));
  }
  std::ranges::sort(models);
  throw UsageError(
      fmt::format("'{}' is neither a file nor a zoo model\n  the zoo has {}; with PyTorch also {}", name,
                  models.empty() ? "nothing in " + zoo.string() : fmt::format("{}", fmt::join(models, ", ")),
                  fmt::join(kExported, ", ")));
}

std::string grouped_signed(std::int64_t number) {
  return (number < 0 ? "-" : "+") + grouped(static_cast<std::uint64_t>(number < 0 ? -number : number));
}

}  // namespace cormorant
