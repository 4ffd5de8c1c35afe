// SPDX-License-Identifier: Apache-2.0
#include "formats/npy/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "formats/npy/header.h"

namespace cormorant::npy {
namespace {

std::vector<std::byte> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw InputError({.problem = "there is no such file", .advice = "check the path", .file = path});
  }
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::filesystem::file_size(path, error)));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream) throw InputError({.problem = "the file cannot be read", .advice = "check permissions", .file = path});
  return bytes;
}

// Column-major to row-major: walks the result in its own order and keeps the source's offset in step.
std::vector<std::byte> c_order(std::span<const std::byte> source, const Header& header) {
  std::vector<std::byte> result(source.size());
  if (source.empty()) return result;
  const std::size_t rank = header.shape.size();
  const std::size_t element = size_of(header.dtype);
  std::vector<std::size_t> strides(rank);
  std::size_t stride = element;
  for (std::size_t d = 0; d < rank; ++d) {
    strides[d] = stride;
    stride *= static_cast<std::size_t>(header.shape[d]);
  }
  std::vector<std::int64_t> index(rank, 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += element) {
    std::memcpy(&result[to], &source[from], element);
    for (std::size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < header.shape[d]) break;
      from -= strides[d] * static_cast<std::size_t>(header.shape[d]);
      index[d] = 0;
    }
  }
  return result;
}

}  // namespace

std::int64_t Array::element_count() const { return static_cast<std::int64_t>(data.size() / size_of(dtype)); }

Array parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  Header header = parse_header(bytes, name);
  const std::span<const std::byte> data = bytes.subspan(header.data_offset);
  if (data.size() < header.data_bytes) {
    throw InputError(
        {.problem = fmt::format("the array is truncated: its header says {} bytes of data, but there are {}",
                                header.data_bytes, data.size()),
         .advice = "copy or write the file again",
         .file = name});
  }
  if (data.size() > header.data_bytes) {
    throw InputError({.problem = fmt::format("{} bytes follow the array's data", data.size() - header.data_bytes),
                      .advice = "one .npy file holds one array; use numpy.savez for several",
                      .file = name});
  }
  Array array{.dtype = header.dtype, .shape = header.shape, .data = {}};
  array.data = header.fortran_order ? c_order(data, header) : std::vector<std::byte>(data.begin(), data.end());
  // A bool that is neither 0 nor 1 would be undefined behaviour when read as one; NumPy means "not zero".
  if (array.dtype == DType::boolean) {
    for (std::byte& b : array.data) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  return array;
}

Array read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

void write_npy(const std::string& path, const Array& array) {
  const std::string header = format_header(array.dtype, array.shape, path);
  std::size_t expected = size_of(array.dtype);
  for (const std::int64_t size : array.shape) expected *= static_cast<std::size_t>(size);
  if (expected != array.data.size()) throw std::logic_error("write_npy: the array's data does not fit its shape");
  std::string bytes = header;
  bytes.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  write_output(path, bytes);
}

const Array* find(const NamedArrays& arrays, const std::string& name) {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const auto& pair) { return pair.first == name; });
  return found == arrays.end() ? nullptr : &found->second;
}

}  // namespace cormorant::npy
