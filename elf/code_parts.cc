// SPDX-License-Identifier: Apache-2.0
#include "elf/code_parts.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace cormorant {
namespace {

constexpr std::array<std::string_view, 4> kCodeSections = {".vectors", ".text", ".rodata", ".data"};

// What the linker placed: a section of one object.
struct Piece {
  std::uint32_t address = 0;
  std::uint64_t bytes = 0;
  std::string file;
};

// Lines of the map: an output section begins at the line's beginning, its pieces one blank further in. A long name has
// a line of its own, before address, size and file.
std::vector<Piece> read_map(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Piece> pieces;
  bool is_code = false, continues = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    std::istringstream words(line);
    std::string name;
    if (line[0] != ' ') {
      words >> name;
      is_code = std::ranges::find(kCodeSections, name) != kCodeSections.end();
      continue;
    }
    const bool is_piece = line.starts_with(" .");
    if (is_piece) words >> name;
    if (!is_code || (!is_piece && !continues)) continue;
    Piece piece;
    words >> std::hex >> piece.address >> piece.bytes >> std::ws;
    continues = is_piece && !words;
    if (!std::getline(words, piece.file) || piece.bytes == 0) continue;
    // Strings that were merged into others keep the size that they had, but the next piece is in their place.
    if (!pieces.empty() && pieces.back().address <= piece.address) {
      pieces.back().bytes = std::min<std::uint64_t>(pieces.back().bytes, piece.address - pieces.back().address);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

using Families = std::set<std::string>;

// What reaches what, by address.
struct Owners {
  std::map<std::uint32_t, Families> functions;
  std::map<std::uint32_t, Families> constants;

  [[nodiscard]] static Families in(const std::map<std::uint32_t, Families>& owners, const Piece& piece) {
    Families all;
    for (auto at = owners.lower_bound(piece.address); at != owners.end() && at->first - piece.address < piece.bytes;
         ++at) {
      all.insert(at->second.begin(), at->second.end());
    }
    return all;
  }
};

Owners find_owners(CallGraph& graph, const std::vector<KernelCode>& kernels) {
  Owners owners;
  for (const KernelCode& kernel : kernels) {
    const std::string family = operator_family(kernel.name);
    owners.constants[kernel.address].insert(family);
    owners.constants[graph.elf().word(kernel.address).value_or(0)].insert(family);  // its name
    for (const Reach* reach : {&kernel.load, &kernel.execute}) {
      for (const std::uint32_t entry : reach->functions) {
        owners.functions[entry].insert(family);
        for (const std::uint32_t constant : graph.function(entry).constants) owners.constants[constant].insert(family);
      }
    }
  }
  return owners;
}

std::string owner_of(const Piece& piece, const Owners& owners) {
  const auto is_from = [&](std::string_view archive) { return piece.file.find(archive) != std::string::npos; };
  if (is_from("libboard.a(")) return "start-up";
  if (is_from("libruntime.a(")) return "runtime";
  if (!is_from(".a(")) return "operator table";  // the generated file
  if (!is_from("libkernels.a(")) return "C library";
  Families families = Owners::in(owners.functions, piece);
  if (families.empty()) families = Owners::in(owners.constants, piece);
  if (families.size() == 1) return *families.begin();
  return families.empty() ? "other kernel code" : "shared by operators";
}

}  // namespace

std::string operator_family(std::string_view operator_name) {
  const std::size_t begin = operator_name.find("::");
  if (begin != std::string_view::npos) operator_name.remove_prefix(begin + 2);
  return std::string(operator_name.substr(0, operator_name.find('.')));
}

std::vector<CodePart> code_parts(CallGraph& graph, const std::vector<KernelCode>& kernels,
                                 const std::filesystem::path& map) {
  std::uint64_t rest = 0;
  for (const std::string_view name : kCodeSections) rest += graph.elf().section_size(name);
  const Owners owners = find_owners(graph, kernels);
  std::map<std::string, std::uint64_t> sizes;
  for (const Piece& piece : read_map(map)) {
    sizes[owner_of(piece, owners)] += piece.bytes;
    rest -= std::min(rest, piece.bytes);
  }
  if (rest > 0) sizes["alignment"] += rest;
  std::vector<CodePart> parts;
  for (const auto& [name, bytes] : sizes) parts.push_back({name, bytes});
  std::ranges::sort(parts, [](const CodePart& a, const CodePart& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  return parts;
}

}  // namespace cormorant
