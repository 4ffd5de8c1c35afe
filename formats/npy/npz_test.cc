// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "base/diagnostic.h"
#include "formats/npy/data_set.h"
#include "formats/npy/npy.h"

namespace cormorant::npy {
namespace {

namespace fs = std::filesystem;

const std::string kTestData = CORMORANT_SOURCE_DIR "/formats/npy/testdata/";
const std::string kZoo = CORMORANT_SOURCE_DIR "/zoo/";

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Array bytes(std::vector<std::int64_t> shape, const std::string& values) {
  Array result{.dtype = DType::u8, .shape = std::move(shape), .data = {}};
  result.data.resize(values.size());
  if (!values.empty()) std::memcpy(result.data.data(), values.data(), values.size());
  return result;
}

std::string problem_of_data_set(const std::string& path) {
  try {
    static_cast<void>(read_data_set(path));
  } catch (const InputError& error) {
    return error.diagnostic().problem;
  }
  return "";
}

// A fresh folder for one test.
fs::path folder(const std::string& name) {
  fs::path path = fs::path(::testing::TempDir()) / ("npz_test_" + name);
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

TEST(Npz, EveryElementTypeIsReadInOrder) {
  const NamedArrays arrays = read_npz(kTestData + "types.npz");
  const struct {
    std::string name;
    DType dtype;
  } expected[] = {{"bool", DType::boolean}, {"uint8", DType::u8},    {"int8", DType::i8},
                  {"int16", DType::i16},    {"int32", DType::i32},   {"int64", DType::i64},
                  {"float16", DType::f16},  {"float32", DType::f32}, {"float64", DType::f64}};
  ASSERT_EQ(arrays.size(), std::size(expected));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(arrays[i].first, expected[i].name);
    EXPECT_EQ(arrays[i].second.dtype, expected[i].dtype);
    EXPECT_EQ(arrays[i].second.shape, std::vector<std::int64_t>{3});
  }
  EXPECT_EQ(find(arrays, "float64")->as<double>()[2], 2.0);
  EXPECT_EQ(find(arrays, "float32")->as<float>()[2], 2.0F);
  EXPECT_EQ(find(arrays, "int64")->as<std::int64_t>()[2], 2);
  EXPECT_EQ(find(arrays, "float16")->as<std::uint16_t>()[1], 0x3c00);
  EXPECT_EQ(find(arrays, "none"), nullptr);
}

TEST(Npz, DeflatedEntriesScalarsAndEmptyArraysAreRead) {
  const NamedArrays arrays = read_npz(kTestData + "deflated.npz");
  EXPECT_EQ(find(arrays, "zeros")->data, std::vector<std::byte>(4000));
  EXPECT_EQ(find(arrays, "answer")->as<std::int32_t>()[0], 42);
  EXPECT_TRUE(find(arrays, "answer")->shape.empty());
  EXPECT_EQ(find(arrays, "empty")->shape, (std::vector<std::int64_t>{0, 3}));
}

TEST(Npz, WhatIsWrittenReadsBackAndIsReproducible) {
  const NamedArrays arrays = {{"b", bytes({2, 2}, "abcd")}, {"a/b", bytes({}, "x")}, {"none", bytes({0}, "")}};
  const std::string path = ::testing::TempDir() + "written.npz";
  write_npz(path, arrays);
  EXPECT_EQ(read_npz(path), arrays);
  const std::string first = bytes_of(path);
  write_npz(path, arrays);
  EXPECT_EQ(bytes_of(path), first);
}

TEST(Npz, TwoArraysOfOneNameCannotBeWritten) {
  const NamedArrays arrays = {{"x", bytes({1}, "a")}, {"x", bytes({1}, "b")}};
  EXPECT_THROW(write_npz(::testing::TempDir() + "twice.npz", arrays), InputError);
}

// Whatever is cut off or changed: arrays or an InputError, never anything else.
TEST(Npz, TruncationsAndFlippedBitsNeverEscape) {
  const std::string whole = bytes_of(kTestData + "deflated.npz");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_THROW(static_cast<void>(parse_npz(std::as_bytes(std::span(whole).first(n)), "t")), InputError) << n;
  }
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    std::string mutant = whole;
    mutant[i / 8] = static_cast<char>(mutant[i / 8] ^ (1 << (i % 8)));
    try {
      static_cast<void>(parse_npz(std::as_bytes(std::span(mutant)), "m"));
    } catch (const InputError& error) {
      EXPECT_FALSE(error.diagnostic().problem.empty());
    }
  }
}

TEST(Npz, AChangedElementIsNoticed) {
  const std::string path = ::testing::TempDir() + "changed.npz";
  write_npz(path, {{"x", bytes({4}, "abcd")}});
  std::string file = bytes_of(path);
  EXPECT_NO_THROW(static_cast<void>(parse_npz(std::as_bytes(std::span(file)), "t")));
  file.at(file.find("abcd") + 2) = 'C';
  EXPECT_THROW(static_cast<void>(parse_npz(std::as_bytes(std::span(file)), "t")), InputError);
}

TEST(Npz, OtherFilesAreRefused) {
  for (const std::string text : {"", "hello", "PK\3\4 and no more"}) {
    EXPECT_THROW(static_cast<void>(parse_npz(std::as_bytes(std::span(text)), "t")), InputError) << text;
  }
  EXPECT_THROW(static_cast<void>(read_npz("/nowhere.npz")), InputError);
}

std::string problem_of(const std::string& file) {
  try {
    static_cast<void>(read_npz(file));
  } catch (const InputError& error) {
    return error.diagnostic().file + ": " + error.diagnostic().problem;
  }
  return "";
}

TEST(Npz, TwoArraysOfOneNameAreRefused) {
  const std::string path = ::testing::TempDir() + "same_name.npz";
  write_npz(path, {{"x", bytes({1}, "a")}, {"y", bytes({1}, "b")}});
  std::string file = bytes_of(path);
  for (std::size_t at = 0; (at = file.find("y.npy", at)) != std::string::npos;) file[at] = 'x';
  std::ofstream(path, std::ios::binary) << file;
  EXPECT_EQ(problem_of(path), path + ": x.npy: two arrays have this name");
}

// 97 KB that would become 100 MB, and the same again for every further entry that names the same bytes.
TEST(Npz, WhatInflatesBeyondMeasureIsRefused) {
  EXPECT_NE(problem_of(CORMORANT_SOURCE_DIR "/tests/hostile_models/inflates.npz").find("more than 64-fold"),
            std::string::npos);
}

// An array of a million zeros, then too many for one that is read after it; both deflated a thousandfold. Otherwise a
// file of 4 MB with 66 such arrays would take 4 GiB.
TEST(Npz, SmallArraysThatInflateBeyondMeasureAreCountedTogether) {
  const std::string path = ::testing::TempDir() + "zeros.npz";
  write_npy(path + ".npy", bytes({1000000}, std::string(1000000, '\0')));
  const std::string first = bytes_of(path + ".npy"), second((64U << 20U) - 1000000, '\0');
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  for (const std::string& array : {std::cref(first), std::cref(second)}) {
    zip_source_t* source = zip_source_buffer(archive, array.data(), array.size(), 0);
    const std::string name = &array == &first ? "a.npy" : "b.npy";
    const zip_int64_t entry = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    ASSERT_GE(entry, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(entry), ZIP_CM_DEFLATE, 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
  const std::string problem = problem_of(path);
  EXPECT_TRUE(problem.starts_with(path + ": b.npy: the array is ")) << problem;
  EXPECT_NE(problem.find("more than 64-fold"), std::string::npos) << problem;
}

TEST(DataSet, TheZoosTestImagesAreRead) {
  const DataSet set = read_data_set(kZoo + "digits_test.npz");
  EXPECT_EQ(set.samples, 1000);
  const Array* x = find(set.arrays, "x");
  const Array* y = find(set.arrays, "y");
  ASSERT_NE(x, nullptr);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(x->shape, (std::vector<std::int64_t>{1000, 1, 28, 28}));
  EXPECT_EQ(sample_element_count(*x), 784);
  EXPECT_EQ(sample(*x, 999).size(), 784 * sizeof(float));
  // The first labels of MNIST's test set.
  const std::vector<std::int64_t> labels = {7, 2, 1, 0, 4, 1, 4, 9, 5, 9};
  for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(y->as<std::int64_t>()[i], labels[i]);
}

TEST(DataSet, FilesOfAFolderAreStackedInOrderOfName) {
  const fs::path path = folder("stack");
  write_npy(path / "b.npy", bytes({1, 2}, "cd"));
  write_npy(path / "a.npy", bytes({1, 2}, "ab"));
  write_npy(path / "c.npy", bytes({1, 2}, "ef"));
  std::ofstream(path / "readme.txt") << "not an array";
  const DataSet set = read_data_set(path);
  ASSERT_EQ(set.arrays.size(), 1U);
  EXPECT_EQ(set.samples, 3);
  EXPECT_EQ(set.arrays[0].first, "x");
  EXPECT_EQ(set.arrays[0].second, bytes({3, 1, 2}, "abcdef"));
  EXPECT_EQ(sample(set.arrays[0].second, 1)[0], std::byte{'c'});
}

TEST(DataSet, SubfoldersAreInputs) {
  const fs::path path = folder("inputs");
  for (const std::string input : {"right", "left"}) {
    fs::create_directories(path / input);
    write_npy(path / input / "0.npy", bytes({1}, input.substr(0, 1)));
    write_npy(path / input / "1.npy", bytes({1}, input.substr(1, 1)));
  }
  const DataSet set = read_data_set(path);
  EXPECT_EQ(set.arrays, (NamedArrays{{"left", bytes({2, 1}, "le")}, {"right", bytes({2, 1}, "ri")}}));
}

TEST(DataSet, ASingleArrayIsX) {
  const fs::path path = folder("single");
  write_npy(path / "a.npy", bytes({2}, "ab"));
  EXPECT_EQ(read_data_set(path / "a.npy").arrays, (NamedArrays{{"x", bytes({2}, "ab")}}));
}

TEST(DataSet, WhatCannotBeSamplesIsNamed) {
  const fs::path path = folder("bad");
  EXPECT_NE(problem_of_data_set(path).find("no arrays"), std::string::npos);
  write_npy(path / "a.npy", bytes({2}, "ab"));
  write_npy(path / "b.npy", bytes({1}, "a"));
  EXPECT_NE(problem_of_data_set(path).find("u8 of shape (1), but the first"), std::string::npos);
  write_npz(path / "uneven.npz", {{"x", bytes({2}, "ab")}, {"y", bytes({1}, "a")}});
  EXPECT_NE(problem_of_data_set(path / "uneven.npz").find("'y' has 1 samples, but 'x' has 2"), std::string::npos);
  write_npz(path / "scalar.npz", {{"x", bytes({}, "a")}});
  EXPECT_NE(problem_of_data_set(path / "scalar.npz").find("no samples"), std::string::npos);
  write_npz(path / "none.npz", {{"x", bytes({0, 3}, "")}});
  EXPECT_NE(problem_of_data_set(path / "none.npz").find("no samples"), std::string::npos);
  EXPECT_NE(problem_of_data_set(path / "missing").find("no such file"), std::string::npos);
}

}  // namespace
}  // namespace cormorant::npy
