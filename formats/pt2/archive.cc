// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/diagnostic.h"
#include "formats/pt2/parse.h"
#include "formats/pt2/recognize.h"
#include "formats/pt2/zip.h"

namespace cormorant::pt2 {
namespace {

constexpr std::string_view kFormatEntry = "archive_format";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// All entries are under one folder, which is named after the file: the folder of archive_format, with its slash.
std::string find_root(const Zip& zip, const std::string& file) {
  for (const std::string& name : zip.names()) {
    if (!name.ends_with(kFormatEntry)) continue;
    std::string root = name.substr(0, name.size() - kFormatEntry.size());
    if (root.empty() || root.find('/') == root.size() - 1) return root;
  }
  Diagnostic diagnostic = diagnose_foreign_zip(zip.names());
  diagnostic.file = file;
  throw InputError(std::move(diagnostic));
}

void check_header(Zip& zip, const std::string& root, const std::string& file) {
  const auto value_of = [&](const std::string& entry) -> std::string {
    return zip.contains(root + entry) ? std::string(trimmed(zip.read(root + entry).text()).substr(0, 40)) : "";
  };
  const auto fail = [&](std::string problem) {
    throw InputError({.problem = std::move(problem), .advice = kHowToExport, .file = file});
  };
  if (const std::string format = value_of(std::string(kFormatEntry)); format != "pt2") {
    fail(fmt::format("the archive's format is '{}', not 'pt2'", format));
  }
  if (const std::string order = value_of("byteorder"); !order.empty() && order != "little") {
    throw InputError({.problem = fmt::format("the archive was written with byte order '{}'", order),
                      .advice = "save the model again on a little-endian machine",
                      .file = file});
  }
  if (const std::string version = value_of("archive_version"); !version.empty() && version != "0") {
    throw InputError({.problem = fmt::format("the archive has version {}, but only 0 is supported", version),
                      .advice = "this PyTorch is newer than cormorant supports: report it, or export with an older one",
                      .file = file});
  }
}

// The programs in the archive: models/NAME.json.
std::vector<std::string> program_names(const Zip& zip, const std::string& root) {
  constexpr std::string_view kSuffix = ".json";
  const std::string folder = root + "models/";
  std::vector<std::string> names;
  for (const std::string& entry : zip.names()) {
    if (!entry.starts_with(folder) || !entry.ends_with(kSuffix) || entry.size() <= folder.size() + kSuffix.size()) {
      continue;
    }
    names.push_back(entry.substr(folder.size(), entry.size() - folder.size() - kSuffix.size()));
  }
  return names;
}

struct Opened {
  Zip zip;
  std::string root;
  std::vector<std::string> names;  // of programs, at least one
};

Opened open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& file,
            bool verify_checksums) {
  const auto refuse = [&](Diagnostic diagnostic) {
    diagnostic.file = file;
    throw InputError(std::move(diagnostic));
  };
  if (!looks_like_zip(bytes)) refuse(diagnose_foreign_file(bytes));
  Zip zip({.bytes = bytes, .owner = std::move(owner)}, file, verify_checksums);
  std::string root = find_root(zip, file);
  check_header(zip, root, file);
  std::vector<std::string> names = program_names(zip, root);
  if (names.empty()) {
    refuse({.problem = "the archive contains no exported program (it may be an AOTInductor package of machine code)",
            .advice = kHowToExport});
  }
  return {std::move(zip), std::move(root), std::move(names)};
}

}  // namespace

Archive parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& file,
              ParseOptions options) {
  Opened opened = open(bytes, std::move(owner), file, options.verify_checksums);
  Zip& zip = opened.zip;
  const std::string& root = opened.root;
  Archive archive{.file = file, .programs = {}};
  for (const std::string& name : opened.names) {
    if (!options.only.empty() && name != options.only) continue;
    const std::string entry = fmt::format("models/{}.json", name);
    const SharedBytes text = zip.read(root + entry);
    OpenSizes sizes;
    int left = options.count ? 64 : 0;  // each takes reading the model once more
    for (;;) {
      Program program =
          parse_program(text.text(), {.file = file, .entry = entry}, options, left > 0 ? &sizes : nullptr);
      program.name = name;
      load_weights(program, zip, root, file);
      check_program(program, file);
      if (!sizes.symbol) {
        archive.programs.push_back(std::move(program));
        break;
      }
      const std::optional<std::int64_t> count = options.count(program, sizes.node);
      if (count) sizes.known.bind(*sizes.symbol, *count);
      left = count ? left - 1 : 0;
      sizes.symbol.reset();
    }
  }
  return archive;
}

Archive read(const std::string& path, ParseOptions options) {
  const SharedBytes file = map_file(path);
  return parse(file.bytes, file.owner, path, std::move(options));
}

std::vector<std::string> read_names(const std::string& path) {
  const SharedBytes file = map_file(path);
  return open(file.bytes, file.owner, path, true).names;
}

const TensorData* initial_value(const Program& program, const InputSpec& input) {
  if (input.target.empty()) return nullptr;
  for (const TensorDataMap* tensors : {&program.weights, &program.constants}) {
    if (const auto found = tensors->find(input.target); found != tensors->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace cormorant::pt2
