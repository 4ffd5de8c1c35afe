// SPDX-License-Identifier: Apache-2.0
#include "formats/npy/data_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "base/diagnostic.h"

namespace cormorant::npy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOnlyInput = "x";

std::string describe(const Array& array) {
  return fmt::format("{} of shape ({})", name_of(array.dtype), fmt::join(array.shape, ", "));
}

// All .npy files of a folder, in order of name, as one array with a new first axis.
Array stack(const fs::path& folder, const std::vector<fs::path>& files) {
  Array all;
  std::vector<std::int64_t> shape;
  for (const fs::path& file : files) {
    const Array one = read_npy(file.string());
    if (file == files.front()) {
      all.dtype = one.dtype;
      shape = one.shape;
      all.data.reserve(one.data.size() * files.size());
    } else if (one.dtype != all.dtype || one.shape != shape) {
      throw InputError({.problem = fmt::format("this sample is {}, but the first of folder {} is {}", describe(one),
                                               folder.filename().string(), describe({all.dtype, shape, {}})),
                        .advice = "all samples of one input must have the same shape and type",
                        .file = file.string()});
    }
    all.data.insert(all.data.end(), one.data.begin(), one.data.end());
  }
  all.shape = std::move(shape);
  all.shape.insert(all.shape.begin(), static_cast<std::int64_t>(files.size()));
  return all;
}

std::vector<fs::path> npy_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".npy") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

NamedArrays read_folder(const fs::path& folder) {
  NamedArrays arrays;
  if (const std::vector<fs::path> files = npy_files(folder); !files.empty()) {
    arrays.emplace_back(kOnlyInput, stack(folder, files));
    return arrays;
  }
  std::map<std::string, fs::path> inputs;  // sorted by name
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) inputs.emplace(entry.path().filename().string(), entry.path());
  }
  for (const auto& [name, path] : inputs) {
    if (const std::vector<fs::path> files = npy_files(path); !files.empty()) {
      arrays.emplace_back(name, stack(path, files));
    }
  }
  return arrays;
}

bool is_npy(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::array<char, 6> magic{};
  stream.read(magic.data(), magic.size());
  return stream && magic[0] == '\x93' && std::string(magic.data() + 1, 5) == "NUMPY";
}

NamedArrays read_arrays(const std::string& path) {
  try {
    if (fs::is_directory(path)) return read_folder(path);
  } catch (const fs::filesystem_error& error) {
    throw InputError({.problem = fmt::format("the folder cannot be read: {}", error.code().message()),
                      .advice = "check the path and its permissions",
                      .file = path});
  }
  if (!is_npy(path)) return read_npz(path);
  NamedArrays arrays;
  arrays.emplace_back(kOnlyInput, read_npy(path));
  return arrays;
}

NamedArrays arrays_of(NamedArrays arrays, const std::string& method, const std::string& path) {
  const auto is_of_method = [](const auto& array) { return array.first.find('.') != std::string::npos; };
  if (method.empty() || std::ranges::none_of(arrays, is_of_method)) return arrays;
  NamedArrays own;
  for (auto& [name, array] : arrays) {
    if (name.starts_with(method + ".")) own.emplace_back(name.substr(method.size() + 1), std::move(array));
  }
  if (own.empty()) {
    throw InputError({.problem = fmt::format("it contains no arrays for method '{}'", method),
                      .advice = fmt::format("name them {}.INPUT, for example {}.x", method, method),
                      .file = path});
  }
  return own;
}

}  // namespace

DataSet read_data_set(const std::string& path, const std::string& method) {
  DataSet set{.path = path, .samples = 0, .arrays = arrays_of(read_arrays(path), method, path)};
  if (set.arrays.empty()) {
    throw InputError({.problem = "it contains no arrays",
                      .advice = "use a .npz with one array per model input, or a folder with one .npy per sample",
                      .file = path});
  }
  const auto& [first_name, first] = set.arrays.front();
  for (const auto& [name, array] : set.arrays) {
    if (array.shape.empty() || array.shape.front() == 0) {
      throw InputError({.problem = fmt::format("array '{}' has no samples", name),
                        .advice = "the first axis of every array counts the samples",
                        .file = path});
    }
    if (array.shape.front() != first.shape.front()) {
      throw InputError({.problem = fmt::format("array '{}' has {} samples, but '{}' has {}", name, array.shape.front(),
                                               first_name, first.shape.front()),
                        .advice = "the first axis of every array counts the samples and must be the same",
                        .file = path});
    }
  }
  set.samples = first.shape.front();
  return set;
}

std::int64_t sample_element_count(const Array& array) { return array.element_count() / array.shape.at(0); }

std::span<const std::byte> sample(const Array& array, std::int64_t index) {
  if (index < 0 || index >= array.shape.at(0)) throw std::out_of_range("sample: no such sample");
  const std::size_t bytes = array.data.size() / static_cast<std::size_t>(array.shape.front());
  return std::span(array.data).subspan(bytes * static_cast<std::size_t>(index), bytes);
}

}  // namespace cormorant::npy
