// SPDX-License-Identifier: Apache-2.0
//
// A zip whose stored entries can be used where they are. libzip reads entries but does not say where in the file their
// bytes are, which is what mapping needs, so the directory is read here; zlib does what is left, inflating.
//
// Nothing in the file is trusted: every offset and size is checked against the actual bytes, entries may not overlap
// each other or the directory, names are unique, what inflates is limited, checksums are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cormorant::pt2 {

// Bytes and what keeps them alive.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Maps a whole file for reading.
SharedBytes map_file(const std::string& path);

class Zip {
 public:
  // `file` stands for the file in diagnostics.
  Zip(SharedBytes bytes, std::string file, bool verify_checksums);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }  // in the directory's order
  [[nodiscard]] bool contains(std::string_view name) const;

  // The entry's content: a part of the file itself if it is stored, an own buffer if it is deflated.
  // The entry must exist (contains).
  SharedBytes read(const std::string& name);

 private:
  struct Entry {
    std::string name;
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t checksum = 0;
    std::uint64_t compressed_size = 0;
    std::uint64_t size = 0;
    std::uint64_t header_offset = 0;
    std::uint64_t data_offset = 0;
  };
  struct Directory {
    std::uint64_t count = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    std::uint64_t end = 0;  // the first byte that cannot be the directory's
  };

  [[noreturn]] void fail(const std::string& problem) const;
  [[nodiscard]] std::uint64_t number(std::uint64_t offset, unsigned bytes) const;
  [[nodiscard]] std::uint64_t find_end_record() const;
  [[nodiscard]] Directory find_directory() const;
  void read_directory(const Directory& directory);
  std::uint64_t read_entry(std::uint64_t offset, std::uint64_t end);
  void apply_zip64(Entry& entry, std::uint64_t extra, std::uint64_t end) const;
  void locate_data(Entry& entry, std::uint64_t limit) const;
  void check_overlaps(std::uint64_t limit) const;
  std::shared_ptr<std::vector<std::byte>> inflate_entry(const Entry& entry);

  SharedBytes file_bytes_;
  std::string file_;
  bool verify_checksums_;
  std::uint64_t inflate_budget_;
  std::vector<Entry> entries_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace cormorant::pt2
