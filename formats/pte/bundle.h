// SPDX-License-Identifier: Apache-2.0
//
// Bundled programs (.bpte): a .pte with inputs and the outputs they should give, as ExecuTorch's tools exchange them.
// Host only; firmware gets the program and the inputs from its launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace cormorant::pte {

struct BundledTensor {
  DType dtype = DType::f32;
  std::vector<std::int32_t> sizes;
  std::vector<std::uint8_t> dim_order;  // of the data
  std::vector<std::byte> data;
  friend bool operator==(const BundledTensor&, const BundledTensor&) = default;
};

struct TestCase {
  std::vector<BundledTensor> inputs;
  std::vector<BundledTensor> expected_outputs;  // may be empty: nothing to compare with
  friend bool operator==(const TestCase&, const TestCase&) = default;
};

struct Bundle {
  std::vector<std::byte> program;  // a whole .pte
  std::string method = "forward";
  std::vector<TestCase> cases;
};

// Whether the bytes call themselves a bundle; a plain program does not.
bool is_bundle(std::span<const std::byte> file);

std::vector<std::byte> write_bundle(const Bundle& bundle);
// Test cases of several methods, all of the first one's program.
std::vector<std::byte> write_bundle(std::span<const Bundle> methods);

// The test cases of a method, by default the first that has any. Throws InputError if the file is damaged or holds
// values other than tensors.
Bundle read_bundle(std::span<const std::byte> file, const std::string& method = {});

}  // namespace cormorant::pte
