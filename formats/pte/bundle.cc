// SPDX-License-Identifier: Apache-2.0
#include "formats/pte/bundle.h"

#include <flatbuffers/flatbuffers.h>

#include "base/diagnostic.h"
#include "formats/pte/verified.h"

namespace cormorant::pte {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;

const std::uint8_t* as_u8(const std::vector<std::byte>& bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

Offset<Vector<Offset<bundle_schema::Value>>> write_values(FlatBufferBuilder& builder,
                                                          const std::vector<BundledTensor>& tensors) {
  std::vector<Offset<bundle_schema::Value>> values;
  for (const BundledTensor& tensor : tensors) {
    builder.ForceVectorAlignment(tensor.data.size(), 1, 16);
    const auto data = builder.CreateVector(as_u8(tensor.data), tensor.data.size());
    const auto sizes = builder.CreateVector(tensor.sizes);
    const auto dim_order = builder.CreateVector(tensor.dim_order);
    const auto table =
        bundle_schema::CreateTensor(builder, static_cast<std::int8_t>(tensor.dtype), sizes, data, dim_order);
    values.push_back(bundle_schema::CreateValue(builder, bundle_schema::ValueUnion::Tensor, table.Union()));
  }
  return builder.CreateVector(values);
}

[[noreturn]] void damaged(const std::string& what) {
  throw InputError({"the bundled program is damaged: " + what, "bundle the program again"});
}

template <class T>
std::size_t size_of(const Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size() * sizeof(T);
}
template <class T>
std::vector<T> copy(const Vector<T>* vector) {
  if (vector == nullptr) return {};
  return {vector->begin(), vector->end()};
}

// `room`: bytes that may still be read. Cases may share what they contain, but no file has many times its size.
std::vector<BundledTensor> read_values(const Vector<Offset<bundle_schema::Value>>* values, std::size_t& room) {
  std::vector<BundledTensor> tensors;
  if (values == nullptr) return tensors;
  for (const auto* value : *values) {
    const auto* tensor = value->val_as_Tensor();
    if (tensor == nullptr) {
      throw InputError({"the bundled program has an input or output that is not a tensor",
                        "only tensors can be passed to a program"});
    }
    const std::size_t most = size_of(tensor->sizes()) + size_of(tensor->dim_order()) + size_of(tensor->data());
    if (most > room) damaged("its test cases are many times as large as the file");
    room -= most;
    BundledTensor read{static_cast<DType>(tensor->scalar_type()), copy(tensor->sizes()), copy(tensor->dim_order()), {}};
    if (tensor->data() != nullptr) {
      const auto bytes = std::as_bytes(std::span(tensor->data()->data(), tensor->data()->size()));
      read.data.assign(bytes.begin(), bytes.end());
    }
    std::uint64_t expected = cormorant::size_of(read.dtype);
    if (expected == 0) {
      throw InputError({"the bundled program has a tensor of an unknown element type, number " +
                            std::to_string(tensor->scalar_type()),
                        "bundle the program with tensors of integers, floats or booleans"});
    }
    for (const std::int32_t size : read.sizes) {
      if (size < 0 || expected > read.data.size()) damaged("a tensor's sizes");
      expected *= static_cast<std::uint64_t>(size);
    }
    if (expected != read.data.size()) damaged("a tensor does not have as much data as its sizes say");
    if (read.dim_order.size() != read.sizes.size()) damaged("a tensor's dim_order");
    tensors.push_back(std::move(read));
  }
  return tensors;
}

}  // namespace

bool is_bundle(std::span<const std::byte> file) {
  return file.size() >= 8 && bundle_schema::BundledProgramBufferHasIdentifier(file.data());
}

std::vector<std::byte> write_bundle(const Bundle& bundle) { return write_bundle(std::span(&bundle, 1)); }

std::vector<std::byte> write_bundle(std::span<const Bundle> methods) {
  FlatBufferBuilder builder;
  const std::vector<std::byte>& bytes_of_program = methods.front().program;
  builder.ForceVectorAlignment(bytes_of_program.size(), 1, 32);
  const auto program = builder.CreateVector(as_u8(bytes_of_program), bytes_of_program.size());
  std::vector<Offset<bundle_schema::BundledMethodTestSuite>> suites;
  for (const Bundle& bundle : methods) {
    std::vector<Offset<bundle_schema::BundledMethodTestCase>> cases;
    for (const TestCase& test : bundle.cases) {
      const auto inputs = write_values(builder, test.inputs);
      const auto outputs = write_values(builder, test.expected_outputs);
      cases.push_back(bundle_schema::CreateBundledMethodTestCase(builder, inputs, outputs));
    }
    const auto name = builder.CreateString(bundle.method);
    const auto case_vector = builder.CreateVector(cases);
    suites.push_back(bundle_schema::CreateBundledMethodTestSuite(builder, name, case_vector));
  }
  const auto suite_vector = builder.CreateVector(suites);
  bundle_schema::FinishBundledProgramBuffer(builder,
                                            bundle_schema::CreateBundledProgram(builder, 0, suite_vector, program));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), static_cast<std::size_t>(builder.GetSize())));
  return {bytes.begin(), bytes.end()};
}

Bundle read_bundle(std::span<const std::byte> file, const std::string& method) {
  if (!is_bundle(file)) throw InputError({"not a bundled program of version BP08", "bundle the program again"});
  const auto* root = verified_bundle(file);
  if (root == nullptr) damaged("an offset or length is out of bounds");
  Bundle bundle;
  if (root->program() == nullptr) damaged("it contains no program");
  const auto program = std::as_bytes(std::span(root->program()->data(), root->program()->size()));
  bundle.program.assign(program.begin(), program.end());
  if (root->method_test_suites() == nullptr) return bundle;
  constexpr std::size_t kFree = std::size_t{8} << 20U, kMostTimes = 4;
  std::size_t room = kFree + kMostTimes * file.size();
  for (const auto* suite : *root->method_test_suites()) {
    if (suite->test_cases() == nullptr || suite->test_cases()->size() == 0) continue;
    const std::string name = suite->method_name() != nullptr ? suite->method_name()->str() : bundle.method;
    if (!method.empty() && name != method) continue;
    bundle.method = name;
    for (const auto* test : *suite->test_cases()) {
      TestCase& read = bundle.cases.emplace_back();
      read.inputs = read_values(test->inputs(), room);
      read.expected_outputs = read_values(test->expected_outputs(), room);
    }
    break;
  }
  return bundle;
}

}  // namespace cormorant::pte
