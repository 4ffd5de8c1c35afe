// SPDX-License-Identifier: Apache-2.0
#include "program/bundle_io.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/diagnostic.h"
#include "compiler/samples.h"
#include "program/files.h"

namespace cormorant {
namespace {

pte::BundledTensor bundled(const npy::Array& array, const ProgramTensor& tensor, const std::string& what) {
  pte::BundledTensor result{tensor.dtype, {}, tensor.dim_order, to_io(array, tensor, what)};
  for (const std::int64_t size : tensor.shape) result.sizes.push_back(static_cast<std::int32_t>(size));
  return result;
}

npy::Array logical(const pte::BundledTensor& tensor, const std::string& file) {
  std::vector<std::uint8_t> order = tensor.dim_order;
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i)
      throw InputError({"a bundled tensor's dim_order is not a permutation", "bundle the program again", file});
  }
  return from_io(tensor.data, {tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()}, tensor.dim_order, {}});
}

// y for a single output, y0, y1, … for several.
const npy::Array* expected_array(const npy::DataSet& data, std::size_t output, std::size_t outputs) {
  const npy::Array* numbered = npy::find(data.arrays, fmt::format("y{}", output));
  return numbered == nullptr && outputs == 1 ? npy::find(data.arrays, "y") : numbered;
}

npy::Array sample_of(const npy::Array& array, std::size_t index) {
  const auto bytes = npy::sample(array, static_cast<std::int64_t>(index));
  return {array.dtype, {array.shape.begin() + 1, array.shape.end()}, {bytes.begin(), bytes.end()}};
}

}  // namespace

pte::Bundle read_bundle(const std::string& path, const std::string& method) {
  try {
    return pte::read_bundle(read_file(path), method);
  } catch (const InputError& error) {
    Diagnostic diagnostic = error.diagnostic();
    diagnostic.file = path;
    throw InputError(std::move(diagnostic));
  }
}

pte::Bundle make_bundle(const ProgramFile& program, const npy::DataSet& data) {
  const std::vector<Arrays> inputs = sample_arrays(program, data);
  std::vector<Arrays> reference;
  pte::Bundle bundle{program.bytes, program.method, {}};
  for (std::size_t s = 0; s < inputs.size(); ++s) {
    pte::TestCase& test = bundle.cases.emplace_back();
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      test.inputs.push_back(bundled(inputs[s][i], program.inputs[i], data.path));
    }
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
      if (const npy::Array* y = expected_array(data, i, program.outputs.size())) {
        test.expected_outputs.push_back(
            bundled(sample_of(*y, s), program.outputs[i], fmt::format("y of {}", data.path)));
        continue;
      }
      if (reference.empty()) reference = execute(program, inputs, {}).outputs;
      test.expected_outputs.push_back(bundled(reference[s].at(i), program.outputs[i], data.path));
    }
  }
  return bundle;
}

pte::Bundle make_random_bundle(const ProgramFile& program) {
  npy::DataSet data{"random inputs", 1, {}};
  std::mt19937 random(1);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ProgramTensor& tensor = program.inputs[i];
    npy::Array array{tensor.dtype, tensor.shape, {}};
    if (tensor.dtype == DType::f32) {
      std::vector<float> values(tensor.element_count());
      for (float& value : values) value = static_cast<float>(random()) * 0x1p-31F - 1.0F;
      const auto bytes = std::as_bytes(std::span(values));
      array.data.assign(bytes.begin(), bytes.end());
    } else {
      array.data.resize(tensor.element_count() * size_of(tensor.dtype));
      for (std::byte& byte : array.data) byte = static_cast<std::byte>(random());
    }
    array.shape.insert(array.shape.begin(), 1);  // the axis of samples
    data.arrays.emplace_back(program.inputs.size() == 1 ? "x" : fmt::format("x{}", i), std::move(array));
  }
  return make_bundle(program, data);
}

std::vector<Arrays> bundled_inputs(const pte::Bundle& bundle, const std::string& file) {
  std::vector<Arrays> samples;
  for (const pte::TestCase& test : bundle.cases) {
    Arrays& arrays = samples.emplace_back();
    for (const pte::BundledTensor& tensor : test.inputs) arrays.push_back(logical(tensor, file));
  }
  return samples;
}

BundleCheck check_outputs(const pte::Bundle& bundle, const std::vector<Arrays>& outputs, const Tolerance& tolerance,
                          const std::string& file) {
  BundleCheck check;
  double worst = 0;
  for (std::size_t s = 0; s < bundle.cases.size(); ++s) {
    const auto& expected = bundle.cases[s].expected_outputs;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const npy::Array wanted = logical(expected[i], file);
      if (i >= outputs[s].size() || wanted.shape != outputs[s][i].shape || wanted.dtype != outputs[s][i].dtype) {
        throw InputError({fmt::format("test case {} expects an output {} of {}[{}], which the program does not have", s,
                                      i, name_of(wanted.dtype), fmt::join(wanted.shape, ", ")),
                          "bundle the program again", file});
      }
      const std::vector<float> a = compiler::to_float(outputs[s][i].dtype, outputs[s][i].data);
      const std::vector<float> b = compiler::to_float(wanted.dtype, wanted.data);
      for (std::size_t k = 0; k < a.size(); ++k) {
        const double apart = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
        const double difference = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
        const double allowed = is_float(wanted.dtype)
                                   ? tolerance.absolute + tolerance.relative * std::abs(static_cast<double>(b[k]))
                                   : 0.0;
        // The worst is the one farthest outside its tolerance; as long as all are inside, the one farthest off.
        const bool is_first_outside = difference > allowed && check.passed;
        if (difference > allowed) check.passed = false;
        const double badness = check.passed ? difference : difference - allowed;
        if (!is_first_outside && badness <= worst) continue;
        worst = badness;
        check.worst = fmt::format("case {}, output {}, element {}: {:.6g}, expected {:.6g}", s, i, k, a[k], b[k]);
      }
    }
  }
  return check;
}

}  // namespace cormorant
