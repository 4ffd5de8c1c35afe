// SPDX-License-Identifier: Apache-2.0
#include "formats/npy/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include "base/diagnostic.h"

namespace cormorant::npy {
namespace {

const std::string kTestData = CORMORANT_SOURCE_DIR "/formats/npy/testdata/";

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Array parse(const std::string& bytes) { return parse_npy(std::as_bytes(std::span(bytes)), "a.npy"); }

std::string file(const std::string& header, const std::string& data) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

std::string problem_of(const std::string& bytes) {
  try {
    static_cast<void>(parse(bytes));
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostic().file, "a.npy");
    return error.diagnostic().problem;
  }
  return "";
}

template <typename T>
Array array(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  Array result{.dtype = dtype, .shape = std::move(shape), .data = {}};
  result.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(result.data.data(), values.data(), result.data.size());
  return result;
}

Array grid() {
  std::vector<std::int16_t> values(24);
  std::iota(values.begin(), values.end(), std::int16_t{0});
  return array(DType::i16, {2, 3, 4}, values);
}

TEST(Npy, FortranOrderComesOutInCOrder) { EXPECT_EQ(read_npy(kTestData + "fortran.npy"), grid()); }

TEST(Npy, HeadersOfVersion2And3AreRead) {
  EXPECT_EQ(read_npy(kTestData + "version2.npy"), grid());
  EXPECT_EQ(read_npy(kTestData + "version3.npy"), grid());
}

TEST(Npy, WritesWhatNumpyWrites) {
  const struct {
    Array array;
    std::string header;
    std::string data;
  } cases[] = {
      {array<std::int16_t>(DType::i16, {2, 3}, {0, 1, 2, 3, 4, 5}),
       "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", std::string("\0\0\1\0\2\0\3\0\4\0\5\0", 12)},
      {array<std::uint8_t>(DType::u8, {}, {7}), "{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "\7"},
      {array<double>(DType::f64, {1}, {0.0}), "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
       std::string(8, '\0')},
      {array<float>(DType::f32, {0, 3}, {}), "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", ""},
  };
  for (const auto& c : cases) {
    const std::string path = ::testing::TempDir() + "written.npy";
    write_npy(path, c.array);
    const std::string header = c.header + std::string(117 - c.header.size(), ' ') + "\n";
    EXPECT_EQ(bytes_of(path), file(header, c.data)) << c.header;
    EXPECT_EQ(read_npy(path), c.array) << c.header;
  }
}

TEST(Npy, HeaderKeysMayStandInAnyOrderAndStyle) {
  const Array expected = array<std::int8_t>(DType::i8, {2}, {1, 2});
  for (const std::string header : {"{'shape': (2,), 'fortran_order': False, 'descr': '|i1'}",
                                   "{ \"descr\" :\"<i1\",\"shape\":(2 , ),\n'fortran_order':True,}",
                                   "{'descr': '>i1', 'fortran_order': False, 'shape': (2L,), }"}) {
    EXPECT_EQ(parse(file(header, "\1\2")), expected) << header;
  }
}

TEST(Npy, AnyNonzeroByteIsTrue) {
  const Array got =
      parse(file("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\xff", 3)));
  EXPECT_EQ(got, array<std::uint8_t>(DType::boolean, {3}, {0, 1, 1}));
}

TEST(Npy, BadHeadersAreNamed) {
  const auto with = [](const std::string& descr, const std::string& shape) {
    return file("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }", "\1\2\3\4");
  };
  const struct {
    std::string bytes;
    std::string part;  // of the problem
  } cases[] = {
      {"", "not a .npy"},
      {"PK\3\4", "not a .npy"},
      {"\x93NUMPY", "ends inside the header"},
      {std::string("\x93NUMPY\x01\x00\x40\x00{'descr'", 18), "ends inside the header"},
      {std::string("\x93NUMPY\x04\x00\x00\x00\x00\x00", 12), "unknown .npy version 4"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "claims to be 4294967295 bytes"},
      {with("'<f4'", "(2,)"), "says 8 bytes of data, but there are 4"},
      {with("'<f4'", "()") + "5", "1 bytes follow"},
      {with("'>f4'", "(1,)"), "big-endian"},
      {with("'|O'", "(1,)"), "Python objects"},
      {with("'<c8'", "(1,)"), "unsupported element type '<c8'"},
      {with("'<u4'", "(1,)"), "unsupported element type '<u4'"},
      {with("'|f4'", "(1,)"), "unsupported element type"},
      {with("''", "(1,)"), "unsupported element type ''"},
      {with("[('a', '<f4')]", "(1,)"), "structured"},
      {with("'<f4'", "(-1,)"), "impossible size"},
      {with("'<f4'", "(99999999999999999999,)"), "impossible size"},
      {with("'<f4'", "(4611686018427387904, 4)"), "more bytes than any machine has"},
      {with("'<f4'", "(0, 4611686018427387904, 4)"), "more bytes than any machine has"},
      {with("'<f4'", "(x,)"), "expected a size"},
      {with("'<f4'", "1"), "expected '('"},
      {with("'<f4'", "(1 2)"), "expected ',' or ')'"},
      {with("'<f4'", "(1"), "expected a size"},
      {file("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", "1234"), "expected True or False"},
      {file("{'descr': '<f4', 'shape': ()}", "1234"), "lacks"},
      {file("{'descr': '<f4', 'evil': True}", "1234"), "unknown key 'evil'"},
      {file("{'descr': '<f4", "1234"), "expected a closing quote"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "1234"), "expected the end"},
  };
  for (const auto& c : cases)
    EXPECT_NE(problem_of(c.bytes).find(c.part), std::string::npos) << c.part << " in: " << problem_of(c.bytes);
}

TEST(Npy, DimensionsAreLimited) {
  std::string shape = "(";
  for (int i = 0; i < 65; ++i) shape += "1,";
  // The header of version 1 as `file` writes it must stay below 256 bytes.
  EXPECT_NE(problem_of(file("{'descr': '|i1', 'shape': " + shape + ")}", "1")).find("more than 64"), std::string::npos);
}

TEST(Npy, PickledObjectsAreRefused) {
  EXPECT_THROW(static_cast<void>(read_npy(kTestData + "objects.npy")), InputError);
}

TEST(Npy, EveryTruncationIsAnInputError) {
  const std::string whole = bytes_of(kTestData + "fortran.npy");
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_NE(problem_of(whole.substr(0, n)), "") << n;
  const std::size_t header = 10 + static_cast<std::size_t>(static_cast<unsigned char>(whole[8]));
  for (std::size_t n = 6; n < header; ++n) {  // the blanks at its end included
    EXPECT_EQ(problem_of(whole.substr(0, n)), "the file ends inside the header") << n;
  }
}

TEST(Npy, MissingFilesAndFoldersAreInputErrors) {
  EXPECT_THROW(static_cast<void>(read_npy("/nowhere/x.npy")), InputError);
  EXPECT_THROW(static_cast<void>(read_npy(::testing::TempDir())), InputError);
  EXPECT_THROW(write_npy(kTestData + "fortran.npy/x.npy", grid()), InputError);
}

TEST(Npy, TypesThatNumpyLacksCannotBeWritten) {
  EXPECT_THROW(write_npy(::testing::TempDir() + "bf16.npy", {DType::bf16, {0}, {}}), InputError);
}

}  // namespace
}  // namespace cormorant::npy
