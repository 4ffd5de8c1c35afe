// SPDX-License-Identifier: Apache-2.0
//
// For tests: writes zip archives, good ones and (by way of the fields) bad ones.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "formats/pt2/zip.h"

namespace cormorant::pt2 {

struct ZipItem {
  std::string name;
  std::string content;
  bool deflate = false;
  bool zip64 = false;  // sizes and offset in the zip64 field
  // What to lie about; negative: the truth.
  std::int64_t method = -1;
  std::int64_t flags = -1;
  std::int64_t checksum = -1;
  std::int64_t size = -1;
  std::int64_t compressed_size = -1;
  std::int64_t header_offset = -1;
  const char* local_name = nullptr;  // null: the truth
};

struct ZipShape {
  bool zip64 = false;
  const char* comment = "";
  std::int64_t count = -1;
  std::int64_t directory_offset = -1;
  std::int64_t directory_size = -1;
  std::int64_t disk = 0;
};

inline std::string little(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8U * i));
  return text;
}

inline std::uint64_t truth_or(std::int64_t lie, std::uint64_t truth) {
  return lie < 0 ? truth : static_cast<std::uint64_t>(lie);
}

inline std::string deflated(const std::string& content) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

inline std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

// Appends the item to the file and its description to the directory.
inline void append_item(const ZipItem& item, std::string& file, std::string& directory) {
  const std::uint64_t offset = truth_or(item.header_offset, file.size());
  const std::string data = item.deflate ? deflated(item.content) : item.content;
  const std::uint64_t checksum =
      truth_or(item.checksum, crc32_z(0, reinterpret_cast<const Bytef*>(item.content.data()), item.content.size()));
  const std::uint64_t size = truth_or(item.size, item.content.size());
  const std::uint64_t compressed = truth_or(item.compressed_size, data.size());
  const std::string local_name = item.local_name == nullptr ? item.name : item.local_name;
  const std::string common =
      joined({little(truth_or(item.flags, 0), 2), little(truth_or(item.method, item.deflate ? 8 : 0), 2), little(0, 4),
              little(checksum, 4)});
  std::string sizes = joined({little(compressed, 4), little(size, 4)});
  std::string short_offset = little(offset, 4);
  std::string extra;
  if (item.zip64) {  // after an unknown field
    sizes.assign(8, '\xff');
    short_offset.assign(4, '\xff');
    extra = joined({little(0x4242, 2), little(1, 2), "x", little(1, 2), little(24, 2), little(size, 8),
                    little(compressed, 8), little(offset, 8)});
  }
  file += joined(
      {"PK\3\4", little(20, 2), common, sizes, little(local_name.size(), 2), little(3, 2), local_name, "pad", data});
  directory += joined({"PK\1\2", little(20, 2), little(20, 2), common, sizes, little(item.name.size(), 2),
                       little(extra.size(), 2), std::string(10, '\0'), short_offset, item.name, extra});
}

inline std::string build_zip(const std::vector<ZipItem>& items, const ZipShape& shape = {}) {
  std::string file;
  std::string directory;
  for (const ZipItem& item : items) append_item(item, file, directory);
  const std::uint64_t offset = truth_or(shape.directory_offset, file.size());
  const std::uint64_t size = truth_or(shape.directory_size, directory.size());
  const std::uint64_t count = truth_or(shape.count, items.size());
  const std::string comment = shape.comment;
  file += directory;
  if (shape.zip64) {
    const std::uint64_t record = file.size();
    file += joined({"PK\6\6", little(44, 8), little(45, 2), little(45, 2), little(0, 8), little(count, 8),
                    little(count, 8), little(size, 8), little(offset, 8)});
    file += joined({"PK\6\7", little(0, 4), little(record, 8), little(1, 4)});
    file += joined({"PK\5\6", little(0, 4), std::string(12, '\xff'), little(comment.size(), 2), comment});
  } else {
    file += joined({"PK\5\6", little(static_cast<std::uint64_t>(shape.disk), 2), little(0, 2), little(count, 2),
                    little(count, 2), little(size, 4), little(offset, 4), little(comment.size(), 2), comment});
  }
  return file;
}

// Bytes that live as long as they are referenced.
inline SharedBytes share(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  return {.bytes = std::as_bytes(std::span(*owner)), .owner = owner};
}

}  // namespace cormorant::pt2
