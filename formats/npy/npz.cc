// SPDX-License-Identifier: Apache-2.0
//
// .npz through libzip. The sizes that a zip claims are not trusted until checked against the actual bytes, because
// deflate can inflate a file a thousandfold.
#include <fmt/format.h>
#include <zip.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "base/diagnostic.h"
#include "formats/npy/header.h"
#include "formats/npy/npy.h"

namespace cormorant::npy {
namespace {

constexpr std::uint64_t kMaxDeflateRatio = 1032;          // deflate's format cannot do better
constexpr std::uint64_t kMaxInflatedBytes = 4ULL << 30U;  // for one file, all arrays together
// Real data does not compress more than this: arrays of that many bytes together may, further ones must be stored.
constexpr std::uint64_t kFreeInflatedBytes = 64ULL << 20U;
constexpr std::uint64_t kMaxUsualRatio = 64;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

struct OwnedError {
  zip_error_t error;
  OwnedError() { zip_error_init(&error); }
  ~OwnedError() { zip_error_fini(&error); }
  OwnedError(const OwnedError&) = delete;
  OwnedError& operator=(const OwnedError&) = delete;
};

Archive open(zip_source_t* source, int flags, OwnedError& error, const std::string& name) {
  Archive archive(source == nullptr ? nullptr : zip_open_from_source(source, flags, &error.error));
  if (archive == nullptr) {
    const std::string reason = zip_error_strerror(&error.error);
    if (source != nullptr) zip_source_free(source);
    throw InputError({.problem = fmt::format("this is not a readable .npz file: {}", reason),
                      .advice = "a .npz file is written by numpy.savez; if this is one, it is damaged or truncated",
                      .file = name});
  }
  return archive;
}

// The memory that one zip may still make us allocate.
struct Budget {
  std::uint64_t file_bytes;  // all entries together are not larger than the file they are in
  std::uint64_t inflated_bytes = kMaxInflatedBytes;
  std::uint64_t free_bytes = kFreeInflatedBytes;  // for entries that inflate more than usual
};

std::vector<std::byte> read_entry(zip_t* archive, zip_uint64_t index, Budget& budget, const std::string& name) {
  const auto fail = [&](const std::string& problem) {
    throw InputError({.problem = problem, .advice = "write the file again with numpy.savez", .file = name});
  };
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0) fail("the zip entry cannot be examined");
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat.valid & kNeeded) != kNeeded) fail("the zip entry has no size");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    fail(fmt::format("the zip entry is compressed by method {}; stored and deflated ones are read", stat.comp_method));
  }
  if (stat.comp_size > budget.file_bytes || stat.size / kMaxDeflateRatio > stat.comp_size) {
    fail("the zip entry claims an impossible size");
  }
  budget.file_bytes -= stat.comp_size;
  if (stat.size / kMaxUsualRatio > stat.comp_size) {
    if (stat.size > budget.free_bytes) {
      throw InputError({.problem = fmt::format("the array is {} bytes and inflates to {}, more than {}-fold",
                                               stat.comp_size, stat.size, kMaxUsualRatio),
                        .advice = fmt::format("such arrays may have {} MiB together; if they are meant to be that "
                                              "large, write them uncompressed with numpy.savez",
                                              kFreeInflatedBytes >> 20U),
                        .file = name});
    }
    budget.free_bytes -= stat.size;
  }
  if (stat.size > budget.inflated_bytes) {
    fail(fmt::format("the arrays are larger than {} GiB together", kMaxInflatedBytes >> 30U));
  }
  budget.inflated_bytes -= stat.size;

  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive, index, 0));
  if (file == nullptr) fail(fmt::format("the zip entry cannot be opened: {}", zip_strerror(archive)));
  std::vector<std::byte> bytes;
  std::size_t filled = 0;
  const auto fill = [&](std::size_t size) {
    bytes.resize(size);
    while (filled < bytes.size()) {
      const zip_int64_t count = zip_fread(file.get(), &bytes[filled], bytes.size() - filled);
      if (count <= 0) fail(fmt::format("the zip entry is damaged: {}", zip_file_strerror(file.get())));
      filled += static_cast<std::size_t>(count);
    }
  };
  // The header says how much of the rest an array needs: what does not fit it is not inflated.
  fill(std::min<std::uint64_t>(stat.size, kMostHeaderBytes));
  const Header header = parse_header(bytes, name);
  if (stat.size != std::uint64_t{header.data_offset} + header.data_bytes) {
    fail(fmt::format("the array needs {} bytes of data, but the zip entry has {}", header.data_bytes,
                     stat.size - std::min<std::uint64_t>(stat.size, header.data_offset)));
  }
  fill(stat.size);
  std::byte beyond{};  // reading past the end is what makes libzip compare the checksum
  if (zip_fread(file.get(), &beyond, 1) != 0) {
    fail(fmt::format("the zip entry is damaged: {}", zip_file_strerror(file.get())));
  }
  return bytes;
}

NamedArrays read_all(zip_t* archive, std::uint64_t file_bytes, const std::string& name) {
  // libzip takes an empty file for an empty zip.
  if (file_bytes == 0) throw InputError({.problem = "the file is empty", .advice = "write it again", .file = name});
  NamedArrays arrays;
  std::unordered_set<std::string> names;
  Budget budget{.file_bytes = file_bytes};
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    const char* entry = zip_get_name(archive, i, 0);
    std::string_view array_name = entry == nullptr ? "" : entry;
    const std::string where = fmt::format("{}: {}", name, array_name);
    if (!array_name.ends_with(".npy")) {
      throw InputError({.problem = "the zip contains something that is not an array",
                        .advice = "a .npz file, as numpy.savez writes it, holds only .npy entries",
                        .file = where});
    }
    array_name.remove_suffix(4);
    std::string key(array_name);
    if (!names.insert(key).second) {
      throw InputError({.problem = "two arrays have this name", .advice = "give each its own name", .file = where});
    }
    arrays.emplace_back(std::move(key), parse_npy(read_entry(archive, i, budget, where), where));
  }
  return arrays;
}

void add(zip_t* archive, const std::string& name, const std::string& bytes, const std::string& path) {
  // The buffer is not copied: `bytes` must outlive zip_close.
  zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
  const zip_int64_t index = source == nullptr ? -1 : zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    if (source != nullptr) zip_source_free(source);
    throw InputError({.problem = fmt::format("array '{}' cannot be added: {}", name, zip_strerror(archive)),
                      .advice = "each array needs a name of its own",
                      .file = path});
  }
  const auto entry = static_cast<zip_uint64_t>(index);
  zip_set_file_compression(archive, entry, ZIP_CM_STORE, 0);
  constexpr zip_uint16_t kFirstOfJanuary1980 = (1U << 5U) | 1U;
  zip_file_set_dostime(archive, entry, 0, kFirstOfJanuary1980, 0);
}

}  // namespace

NamedArrays parse_npz(std::span<const std::byte> bytes, const std::string& name) {
  OwnedError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error);
  return read_all(open(source, ZIP_RDONLY, error, name).get(), bytes.size(), name);
}

NamedArrays read_npz(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw InputError({.problem = "there is no such file", .advice = "check the path", .file = path});
  }
  OwnedError error;
  zip_source_t* source = zip_source_file_create(path.c_str(), 0, -1, &error.error);
  return read_all(open(source, ZIP_RDONLY, error, path).get(), std::filesystem::file_size(path, ignored), path);
}

void write_npz(const std::string& path, const NamedArrays& arrays) {
  std::vector<std::string> contents;
  contents.reserve(arrays.size());
  for (const auto& [name, array] : arrays) {
    std::string bytes = format_header(array.dtype, array.shape, path);
    bytes.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    contents.push_back(std::move(bytes));
  }
  OwnedError error;
  zip_source_t* target = zip_source_file_create(path.c_str(), 0, -1, &error.error);
  Archive archive = open(target, ZIP_CREATE | ZIP_TRUNCATE, error, path);
  for (std::size_t i = 0; i < arrays.size(); ++i) add(archive.get(), arrays[i].first + ".npy", contents[i], path);
  zip_t* closing = archive.release();  // zip_close frees it if it succeeds
  if (zip_close(closing) != 0) {
    archive.reset(closing);
    throw InputError({.problem = fmt::format("the file cannot be written: {}", zip_strerror(archive.get())),
                      .advice = "check that the folder exists and that its disk has free space",
                      .file = path});
  }
}

}  // namespace cormorant::npy
