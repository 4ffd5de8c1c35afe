// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/zip.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/diagnostic.h"

namespace cormorant::pt2 {
namespace {

constexpr std::uint32_t kEndRecord = 0x06054b50;
constexpr std::uint32_t kZip64EndRecord = 0x06064b50;
constexpr std::uint32_t kZip64Locator = 0x07064b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kLocalHeader = 0x04034b50;

constexpr std::uint64_t kEndRecordBytes = 22;
constexpr std::uint64_t kZip64EndRecordBytes = 56;
constexpr std::uint64_t kZip64LocatorBytes = 20;
constexpr std::uint64_t kDirectoryEntryBytes = 46;
constexpr std::uint64_t kLocalHeaderBytes = 30;

constexpr std::uint64_t kSeeZip64 = 0xffffffff;  // "the real number is in the zip64 field"
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;

constexpr std::uint64_t kMaxInflatedBytes = 512ULL
                                            << 20U;  // all entries together: models for microcontrollers are small
constexpr std::uint64_t kMaxDeflateRatio = 1032;     // deflate's format cannot do better

class Mapping {
 public:
  Mapping(void* address, std::size_t size) : address_(address), size_(size) {}
  ~Mapping() { ::munmap(address_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void* address_;
  std::size_t size_;
};

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(::crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

SharedBytes map_file(const std::string& path) {
  const auto fail = [&](const std::string& problem) {
    throw InputError({.problem = problem, .advice = "check the path and its permissions", .file = path});
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(fmt::format("the file cannot be opened: {}", std::strerror(errno)));
  struct stat status = {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  void* address = MAP_FAILED;
  if (regular && size > 0) address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);  // a mapping does not need it
  if (!regular) fail("this is not a file");
  if (size == 0) fail("the file is empty");
  if (address == MAP_FAILED) fail("the file cannot be mapped");
  return {.bytes = {static_cast<const std::byte*>(address), size}, .owner = std::make_shared<Mapping>(address, size)};
}

Zip::Zip(SharedBytes bytes, std::string file, bool verify_checksums)
    : file_bytes_(std::move(bytes)),
      file_(std::move(file)),
      verify_checksums_(verify_checksums),
      inflate_budget_(kMaxInflatedBytes) {
  read_directory(find_directory());
}

void Zip::fail(const std::string& problem) const {
  throw InputError({.problem = fmt::format("the zip archive is damaged: {}", problem),
                    .advice = "copy the file again, or save the model again with torch.export.save",
                    .file = file_});
}

// A little-endian number; one outside the file is an error.
std::uint64_t Zip::number(std::uint64_t offset, unsigned bytes) const {
  const std::uint64_t size = file_bytes_.bytes.size();
  if (offset > size || bytes > size - offset) fail(fmt::format("it ends before offset {}", offset));
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(file_bytes_.bytes[offset + i]) << (8U * i);
  }
  return value;
}

// The end record is the last thing in the file except for a comment, whose length it gives. Requiring that the length
// fits exactly leaves no choice between two directories.
std::uint64_t Zip::find_end_record() const {
  const std::uint64_t size = file_bytes_.bytes.size();
  constexpr std::uint64_t kMaxComment = 0xffff;
  for (std::uint64_t comment = 0; comment <= kMaxComment && comment + kEndRecordBytes <= size; ++comment) {
    const std::uint64_t offset = size - comment - kEndRecordBytes;
    if (number(offset, 4) == kEndRecord && number(offset + 20, 2) == comment) return offset;
  }
  fail("it has no directory at its end; the file is truncated");
}

Zip::Directory Zip::find_directory() const {
  const std::uint64_t end = find_end_record();
  if (number(end + 4, 2) != 0 || number(end + 6, 2) != 0) fail("it is one of several parts");
  Directory directory{
      .count = number(end + 10, 2), .size = number(end + 12, 4), .offset = number(end + 16, 4), .end = end};
  if (end >= kZip64LocatorBytes && number(end - kZip64LocatorBytes, 4) == kZip64Locator) {
    const std::uint64_t record = number(end - kZip64LocatorBytes + 8, 8);
    if (record > end - kZip64LocatorBytes || end - kZip64LocatorBytes - record < kZip64EndRecordBytes ||
        number(record, 4) != kZip64EndRecord) {
      fail("its zip64 directory is not where it should be");
    }
    directory = {.count = number(record + 32, 8),
                 .size = number(record + 40, 8),
                 .offset = number(record + 48, 8),
                 .end = record};
  }
  if (directory.offset > directory.end || directory.size > directory.end - directory.offset) {
    fail("its directory is outside the file");
  }
  if (directory.count > directory.size / kDirectoryEntryBytes) fail("its directory is too small for its entries");
  return directory;
}

void Zip::read_directory(const Directory& directory) {
  std::uint64_t offset = directory.offset;
  const std::uint64_t end = directory.offset + directory.size;
  for (std::uint64_t i = 0; i < directory.count; ++i) offset = read_entry(offset, end);
  if (offset != end) fail("its directory has more entries than it declares");
  for (Entry& entry : entries_) locate_data(entry, directory.offset);
  check_overlaps(directory.offset);
}

// Reads the directory's entry at `offset` and gives the offset of the next one.
std::uint64_t Zip::read_entry(std::uint64_t offset, std::uint64_t end) {
  if (end - offset < kDirectoryEntryBytes || number(offset, 4) != kDirectoryEntry) fail("its directory is malformed");
  Entry entry;
  entry.flags = static_cast<std::uint16_t>(number(offset + 8, 2));
  entry.method = static_cast<std::uint16_t>(number(offset + 10, 2));
  entry.checksum = static_cast<std::uint32_t>(number(offset + 16, 4));
  entry.compressed_size = number(offset + 20, 4);
  entry.size = number(offset + 24, 4);
  entry.header_offset = number(offset + 42, 4);
  const std::uint64_t name = offset + kDirectoryEntryBytes;
  const std::uint64_t extra = name + number(offset + 28, 2);
  const std::uint64_t comment = extra + number(offset + 30, 2);
  const std::uint64_t next = comment + number(offset + 32, 2);
  if (next > end) fail("its directory is malformed");
  entry.name = SharedBytes{.bytes = file_bytes_.bytes.subspan(name, extra - name), .owner = {}}.text();
  apply_zip64(entry, extra, comment);
  if (!index_.emplace(entry.name, entries_.size()).second) fail("two of its entries have the same name");
  names_.push_back(entry.name);
  entries_.push_back(std::move(entry));
  return next;
}

// The extra field with id 1 holds, in this order, those numbers that did not fit 32 bits.
void Zip::apply_zip64(Entry& entry, std::uint64_t extra, std::uint64_t end) const {
  while (end - extra >= 4) {
    const std::uint64_t id = number(extra, 2);
    const std::uint64_t length = number(extra + 2, 2);
    extra += 4;
    if (length > end - extra) fail("its directory is malformed");
    std::uint64_t field = extra;
    extra += length;
    if (id != 1) continue;
    for (std::uint64_t* value : {&entry.size, &entry.compressed_size, &entry.header_offset}) {
      if (*value != kSeeZip64) continue;
      if (extra - field < 8) fail("its directory is malformed");
      *value = number(field, 8);
      field += 8;
    }
  }
}

// The local header repeats the name and says how long the padding before the data is; `limit` is where entries end.
void Zip::locate_data(Entry& entry, std::uint64_t limit) const {
  const std::uint64_t header = entry.header_offset;
  if (header > limit || limit - header < kLocalHeaderBytes || number(header, 4) != kLocalHeader) {
    fail("an entry is not where its directory says");
  }
  const std::uint64_t name_bytes = number(header + 26, 2);
  entry.data_offset = header + kLocalHeaderBytes + name_bytes + number(header + 28, 2);
  if (entry.data_offset > limit || entry.compressed_size > limit - entry.data_offset) {
    fail("an entry is outside the file");
  }
  const SharedBytes name{.bytes = file_bytes_.bytes.subspan(header + kLocalHeaderBytes, name_bytes), .owner = {}};
  if (name.text() != entry.name) fail("an entry has two different names");
}

void Zip::check_overlaps(std::uint64_t limit) const {
  std::vector<const Entry*> order;
  order.reserve(entries_.size());
  for (const Entry& entry : entries_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->header_offset < b->header_offset; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint64_t next = i + 1 < order.size() ? order[i + 1]->header_offset : limit;
    if (order[i]->data_offset + order[i]->compressed_size > next) fail("its entries overlap");
  }
}

bool Zip::contains(std::string_view name) const { return index_.contains(std::string(name)); }

SharedBytes Zip::read(const std::string& name) {
  const Entry& entry = entries_[index_.at(name)];
  if ((entry.flags & kEncrypted) != 0) fail(fmt::format("entry {} is encrypted", entry.name));
  if (entry.method != kStored && entry.method != kDeflated) {
    fail(fmt::format("entry {} is compressed by the unknown method {}", entry.name, entry.method));
  }
  SharedBytes content;
  if (entry.method == kDeflated) {
    auto buffer = inflate_entry(entry);
    content = {.bytes = *buffer, .owner = buffer};
  } else {
    if (entry.size != entry.compressed_size) fail(fmt::format("entry {} has two different sizes", entry.name));
    content = {.bytes = file_bytes_.bytes.subspan(entry.data_offset, entry.size), .owner = file_bytes_.owner};
  }
  if (verify_checksums_ && checksum_of(content.bytes) != entry.checksum) {
    fail(fmt::format("entry {} has the wrong checksum", entry.name));
  }
  return content;
}

std::shared_ptr<std::vector<std::byte>> Zip::inflate_entry(const Entry& entry) {
  if (entry.size / kMaxDeflateRatio > entry.compressed_size) {
    fail(fmt::format("entry {} claims an impossible size", entry.name));
  }
  if (entry.size > inflate_budget_) {
    fail(fmt::format("it would inflate to more than {} MiB", kMaxInflatedBytes >> 20U));
  }
  inflate_budget_ -= entry.size;
  auto buffer = std::make_shared<std::vector<std::byte>>(entry.size);
  z_stream stream = {};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  // zlib counts in 32 bits: feed it in pieces of at most 1 GiB. The output fits: kMaxInflatedBytes is below that.
  constexpr std::uint64_t kPiece = 1ULL << 30U;
  static_assert(kMaxInflatedBytes <= kPiece);
  const std::byte* input = &file_bytes_.bytes[entry.data_offset];
  std::uint64_t left = entry.compressed_size;
  Bytef nothing = 0;  // an empty entry still needs an address
  stream.next_out = buffer->empty() ? &nothing : reinterpret_cast<Bytef*>(buffer->data());
  stream.avail_out = static_cast<uInt>(buffer->size());
  int status = Z_OK;
  while (status == Z_OK && left > 0) {
    const std::uint64_t piece = std::min(left, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input));  // zlib reads it only
    stream.avail_in = static_cast<uInt>(piece);
    status = ::inflate(&stream, Z_NO_FLUSH);
    const std::uint64_t used = piece - stream.avail_in;
    if (used == 0 && status == Z_OK) break;
    input += used;
    left -= used;
  }
  ::inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.avail_out != 0 || left != 0) {
    fail(fmt::format("entry {} does not inflate to its declared size", entry.name));
  }
  return buffer;
}

}  // namespace cormorant::pt2
