// SPDX-License-Identifier: Apache-2.0
//
// The one way to flatbuffers' generated accessors: a file that its verifier accepts, and whose unions have a value
// where they have a type, which the verifier does not check. Host only; needs the generated headers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "formats/pte/bundled_program_generated.h"
#include "formats/pte/program_generated.h"

namespace cormorant::pte {

// Calls f with every element of a vector, which may be missing; true if f is true of all.
template <class V, class F>
bool all_of(const V* vector, F f) {
  return vector == nullptr || std::all_of(vector->begin(), vector->end(), f);
}

template <class Kind>
bool is_whole(Kind kind, const void* value) {
  return kind == Kind::NONE || value != nullptr;
}

inline bool has_whole_unions(const schema::Program& program) {
  return all_of(program.execution_plan(), [](const schema::ExecutionPlan* plan) {
    const bool values =
        all_of(plan->values(), [](const schema::EValue* value) { return is_whole(value->val_type(), value->val()); });
    return values && all_of(plan->chains(), [](const schema::Chain* chain) {
             return all_of(chain->instructions(), [](const schema::Instruction* instruction) {
               return is_whole(instruction->instr_args_type(), instruction->instr_args());
             });
           });
  });
}

inline bool has_whole_unions(const bundle_schema::BundledProgram& bundle) {
  const auto whole = [](const bundle_schema::Value* value) { return is_whole(value->val_type(), value->val()); };
  return all_of(bundle.method_test_suites(), [&](const bundle_schema::BundledMethodTestSuite* suite) {
    return all_of(suite->test_cases(), [&](const bundle_schema::BundledMethodTestCase* test) {
      return all_of(test->inputs(), whole) && all_of(test->expected_outputs(), whole);
    });
  });
}

// The verifier looks at where a vector begins, not at where its elements of eight bytes do.
inline bool has_aligned_vectors(const schema::Program& program, const std::byte* begin) {
  const auto is_aligned = [begin](const auto* vector) {
    return vector == nullptr || (reinterpret_cast<const std::byte*>(vector->Data()) - begin) % 8 == 0;
  };
  const auto are_offsets = [&](const schema::SubsegmentOffsets* segment) {
    return segment == nullptr || is_aligned(segment->offsets());
  };
  const auto is_value = [&](const schema::EValue* value) {
    if (const auto* integers = value->val_as_IntList()) return is_aligned(integers->items());
    if (const auto* numbers = value->val_as_DoubleList()) return is_aligned(numbers->items());
    return true;
  };
  return are_offsets(program.constant_segment()) && all_of(program.mutable_data_segments(), are_offsets) &&
         all_of(program.execution_plan(), [&](const schema::ExecutionPlan* plan) {
           return is_aligned(plan->non_const_buffer_sizes()) && all_of(plan->values(), is_value);
         });
}

// The root of a program or a bundle that is in `file`, which must outlive it; null if it is invalid.
inline const schema::Program* verified_program(std::span<const std::byte> file) {
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  if (!schema::VerifyProgramBuffer(verifier)) return nullptr;
  const schema::Program* program = schema::GetProgram(file.data());
  return has_whole_unions(*program) && has_aligned_vectors(*program, file.data()) ? program : nullptr;
}

inline const bundle_schema::BundledProgram* verified_bundle(std::span<const std::byte> file) {
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  if (!bundle_schema::VerifyBundledProgramBuffer(verifier)) return nullptr;
  const bundle_schema::BundledProgram* bundle = bundle_schema::GetBundledProgram(file.data());
  return has_whole_unions(*bundle) ? bundle : nullptr;
}

}  // namespace cormorant::pte
