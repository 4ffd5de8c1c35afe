// SPDX-License-Identifier: Apache-2.0
#include "elf/elf.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>

#include "fmt/format.h"

namespace cormorant {
namespace {

// The whole file, or its beginning.
std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path, std::size_t most = SIZE_MAX) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read", path.string()));
  std::vector<std::uint8_t> bytes(std::min(static_cast<std::size_t>(file.tellg()), most));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Bounds-checked reads; the file's name goes with them for the message.
class Bytes {
 public:
  Bytes(std::span<const std::uint8_t> data, std::string file) : data_(data), file_(std::move(file)) {}

  [[nodiscard]] std::size_t size() const { return data_.size(); }
  [[nodiscard]] std::uint8_t u8(std::size_t at) const { return slice(at, 1)[0]; }
  [[nodiscard]] std::uint32_t u16(std::size_t at) const {
    const auto b = slice(at, 2);
    return b[0] | (std::uint32_t{b[1]} << 8);
  }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const { return u16(at) | (u16(at + 2) << 16); }
  [[nodiscard]] std::uint32_t big_endian_u32(std::size_t at) const {
    const auto b = slice(at, 4);
    return (std::uint32_t{b[0]} << 24) | (std::uint32_t{b[1]} << 16) | (std::uint32_t{b[2]} << 8) | b[3];
  }
  [[nodiscard]] std::string text(std::size_t at) const {
    const auto rest = slice(at, data_.size() - at);
    const auto end = std::ranges::find(rest, std::uint8_t{0});
    if (end == rest.end()) static_cast<void>(slice(data_.size(), 1));  // throws: cut short
    return {rest.begin(), end};
  }
  [[nodiscard]] std::span<const std::uint8_t> slice(std::size_t at, std::size_t bytes) const {
    if (at > data_.size() || bytes > data_.size() - at) {
      throw std::runtime_error(fmt::format("{}: the file is cut short", file_));
    }
    return data_.subspan(at, bytes);
  }
  [[nodiscard]] Bytes part(std::size_t at, std::size_t bytes) const { return {slice(at, bytes), file_}; }

 private:
  std::span<const std::uint8_t> data_;
  std::string file_;
};

struct SectionHeader {
  std::uint32_t name, type, flags, address, offset, size, link;
};

constexpr std::uint32_t kSymbolTable = 2;
constexpr std::uint32_t kNoBits = 8;
constexpr std::uint32_t kArmAttributes = 0x70000003;
constexpr std::uint32_t kAllocated = 2;

std::vector<SectionHeader> read_headers(const Bytes& file) {
  const std::size_t begin = file.u32(32);
  const std::size_t entry = file.u16(46);
  std::vector<SectionHeader> headers;
  for (std::size_t i = 0; i < file.u16(48); ++i) {
    const std::size_t at = begin + i * entry;
    headers.push_back({file.u32(at), file.u32(at + 4), file.u32(at + 8), file.u32(at + 12), file.u32(at + 16),
                       file.u32(at + 20), file.u32(at + 24)});
  }
  return headers;
}

std::vector<ElfSymbol> read_symbols(const Bytes& table, const Bytes& names) {
  constexpr std::size_t kEntry = 16;
  constexpr std::uint32_t kFunction = 2;
  std::vector<ElfSymbol> symbols;
  for (std::size_t at = 0; at + kEntry <= table.size(); at += kEntry) {
    const bool is_function = (table.u8(at + 12) & 0xf) == kFunction;
    const std::uint32_t value = table.u32(at + 4);
    symbols.push_back({.name = names.text(table.u32(at)),
                       .address = is_function ? value & ~std::uint32_t{1} : value,
                       .size = table.u32(at + 8),
                       .is_function = is_function,
                       .section = table.u16(at + 14)});
  }
  return symbols;
}

std::uint32_t read_uleb(const Bytes& bytes, std::size_t& at) {
  std::uint32_t value = 0;
  for (std::uint32_t shift = 0; shift < 32; shift += 7) {
    const std::uint8_t byte = bytes.u8(at++);
    value |= std::uint32_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) break;
  }
  return value;
}

// 'A', then one vendor section "aeabi": u32 length, name, then a sub-section for the whole file: tag 1, u32 length,
// attributes. Each attribute is a tag and a number, or for some tags a text.
std::optional<CpuArchitecture> read_architecture(const Bytes& attributes) {
  constexpr std::uint32_t kRawName = 4;
  constexpr std::uint32_t kName = 5;
  constexpr std::uint32_t kArchitecture = 6;
  constexpr std::uint32_t kAlsoCompatibleWith = 65;
  constexpr std::uint32_t kConformance = 67;
  constexpr std::uint32_t kCompatibility = 32;
  std::size_t at = 5;
  at += attributes.text(at).size() + 1;
  at += 5;  // the sub-section's tag and length
  while (at < attributes.size()) {
    const std::uint32_t tag = read_uleb(attributes, at);
    if (tag == kArchitecture) return static_cast<CpuArchitecture>(read_uleb(attributes, at));
    if (tag == kCompatibility) read_uleb(attributes, at);
    if (tag == kRawName || tag == kName || tag == kAlsoCompatibleWith || tag == kConformance || tag == kCompatibility) {
      at += attributes.text(at).size() + 1;
    } else {
      read_uleb(attributes, at);
    }
  }
  return std::nullopt;
}

constexpr std::uint32_t kMagic = 0x464c457f;

Elf read_elf(const Bytes& file, const std::string& name) {
  constexpr std::uint8_t k32Bit = 1;
  if (file.u32(0) != kMagic || file.u8(4) != k32Bit) {
    throw std::runtime_error(fmt::format("{}: not a 32-bit ELF file", name));
  }
  const std::vector<SectionHeader> headers = read_headers(file);
  const auto contents = [&](std::size_t i) { return file.part(headers.at(i).offset, headers.at(i).size); };
  const Bytes section_names = contents(file.u16(50));

  Elf elf;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const SectionHeader& header = headers[i];
    ElfSection& section = elf.sections.emplace_back();
    section = {.name = section_names.text(header.name),
               .address = header.address,
               .size = header.size,
               .is_allocated = (header.flags & kAllocated) != 0,
               .has_contents = header.type != kNoBits};
    if (section.is_allocated && section.has_contents) {
      const auto bytes = file.slice(header.offset, header.size);
      section.contents.assign(bytes.begin(), bytes.end());
    }
    if (header.type == kSymbolTable) elf.symbols = read_symbols(contents(i), contents(header.link));
    if (header.type == kArmAttributes) elf.architecture = read_architecture(contents(i));
  }
  return elf;
}

constexpr std::size_t kArchiveMagicBytes = 8;
constexpr std::size_t kMemberHeaderBytes = 60;

void require_archive(const Bytes& file, const std::string& name) {
  if (!std::ranges::equal(file.slice(0, kArchiveMagicBytes), std::string_view("!<arch>\n"))) {
    throw std::runtime_error(fmt::format("{}: not an archive", name));
  }
}

// The size of a member whose header is there, in decimal.
std::size_t member_bytes(const Bytes& file, std::size_t at) {
  const auto digits = file.slice(at + 48, 10);
  return std::stoul(std::string(digits.begin(), digits.end()));
}

}  // namespace

Elf read_elf(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> data = read_bytes(path);
  return read_elf(Bytes(data, path.string()), path.string());
}

std::uint32_t Elf::section_size(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &ElfSection::name);
  return found == sections.end() ? 0 : found->size;
}

const ElfSymbol* Elf::find(std::string_view name) const {
  const auto found = std::ranges::find(symbols, name, &ElfSymbol::name);
  return found == symbols.end() ? nullptr : &*found;
}

std::optional<std::uint16_t> Elf::halfword(std::uint32_t address) const {
  for (const ElfSection& section : sections) {
    if (section.contents.empty() || !section.holds(address, 2)) continue;
    const std::uint8_t* const at = section.contents.data() + (address - section.address);
    return static_cast<std::uint16_t>(at[0] | at[1] << 8);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Elf::word(std::uint32_t address) const {
  const auto low = halfword(address), high = halfword(address + 2);
  if (!low || !high) return std::nullopt;
  return *low | std::uint32_t{*high} << 16;
}

const ElfSymbol* Elf::function_at(std::uint32_t address) const {
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.is_function && address >= symbol.address && address - symbol.address < symbol.size) return &symbol;
  }
  return nullptr;
}

// GNU's archive index, the member "/": a count, a position per symbol, then the names. All numbers are big endian.
std::vector<std::string> archive_symbols(const std::filesystem::path& path) {
  constexpr std::size_t kBegin = kArchiveMagicBytes + kMemberHeaderBytes;
  std::size_t bytes = kBegin;
  {
    const std::vector<std::uint8_t> data = read_bytes(path, bytes);
    const Bytes header(data, path.string());
    require_archive(header, path.string());
    if (header.size() == kArchiveMagicBytes || header.u8(kArchiveMagicBytes) != '/' ||
        header.u8(kArchiveMagicBytes + 1) != ' ') {
      return {};
    }
    bytes += member_bytes(header, kArchiveMagicBytes);
  }
  const std::vector<std::uint8_t> data = read_bytes(path, bytes);
  const Bytes index(data, path.string());
  const std::uint32_t count = index.big_endian_u32(kBegin);
  std::size_t at = kBegin + 4 + std::size_t{4} * count;
  std::vector<std::string> symbols;
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols.push_back(index.text(at));
    at += symbols.back().size() + 1;
  }
  return symbols;
}

// Members begin at even positions, each after a text header.
std::vector<Elf> read_archive(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> data = read_bytes(path);
  const Bytes file(data, path.string());
  require_archive(file, path.string());
  std::vector<Elf> members;
  for (std::size_t at = kArchiveMagicBytes; at + kMemberHeaderBytes <= file.size();) {
    const std::size_t size = member_bytes(file, at);
    at += kMemberHeaderBytes;
    if (size >= 4 && file.u32(at) == kMagic) members.push_back(read_elf(file.part(at, size), path.string()));
    at += size + size % 2;
  }
  return members;
}

bool is_code_for(const Elf& elf, const Cpu& cpu) {
  struct Expected {
    std::string_view archive;
    CpuArchitecture architecture;
  };
  static constexpr Expected kExpected[] = {{"m0", CpuArchitecture::v6m},       {"m0", CpuArchitecture::v6sm},
                                           {"m3", CpuArchitecture::v7},        {"m4", CpuArchitecture::v7em},
                                           {"m7", CpuArchitecture::v7em},      {"m23", CpuArchitecture::v8m_base},
                                           {"m33", CpuArchitecture::v8m_main}, {"m55", CpuArchitecture::v8_1m_main}};
  return std::ranges::any_of(kExpected, [&](const Expected& expected) {
    return expected.archive == cpu.archive && elf.architecture == expected.architecture;
  });
}

std::vector<std::string> library_arithmetic_in(const Elf& elf) {
  static constexpr std::string_view kPrefixes[] = {
      "__aeabi_f",        "__aeabi_d",   "__aeabi_cf",   "__aeabi_cd",   "__aeabi_i2",    "__aeabi_ui2",
      "__aeabi_l2",       "__aeabi_ul2", "__aeabi_lmul", "__aeabi_idiv", "__aeabi_uidiv", "__aeabi_ldivmod",
      "__aeabi_uldivmod", "__divsi3",    "__udivsi3",    "__muldi3",     "__divdi3",      "__udivdi3"};
  std::vector<std::string> found;
  for (const ElfSymbol& symbol : elf.symbols) {
    if (std::ranges::any_of(kPrefixes, [&](auto prefix) { return symbol.name.starts_with(prefix); }))
      found.push_back(symbol.name);
  }
  return found;
}

std::vector<std::string> forbidden_in(const Elf& elf) {
  static constexpr std::string_view kNames[] = {
      "malloc",  "calloc", "realloc", "free",        "_malloc_r",      "_free_r", "_calloc_r", "_realloc_r", "_sbrk",
      "_sbrk_r", "abort",  "printf",  "_impure_ptr", "__aeabi_atexit", "atexit",  "__errno",   "exit",
  };
  static constexpr std::string_view kPrefixes[] = {"_Znw",   "_Zna",     "_Zdl",           "_Zda",
                                                   "__cxa_", "_Unwind_", "_GLOBAL__sub_I_"};
  static constexpr std::string_view kSections[] = {".init_array", ".preinit_array", ".fini_array",
                                                   ".ctors",      ".ARM.exidx",     ".eh_frame"};
  std::vector<std::string> offences;
  for (const ElfSymbol& symbol : elf.symbols) {
    const bool by_name = std::ranges::find(kNames, std::string_view(symbol.name)) != std::end(kNames);
    const bool by_prefix = std::ranges::any_of(kPrefixes, [&](auto prefix) { return symbol.name.starts_with(prefix); });
    if (by_name || by_prefix) offences.push_back(fmt::format("symbol {}", symbol.name));
  }
  for (const std::string_view name : kSections) {
    if (elf.section_size(name) > 0) offences.push_back(fmt::format("section {}", name));
  }
  return offences;
}

}  // namespace cormorant
