// SPDX-License-Identifier: Apache-2.0
//
// A loaded program's inputs and outputs. Nothing of this is kept in RAM: the views that load made of the file are
// recreated in a few hundred instructions.
#include "formats/pte/origin.h"
#include "runtime/loader.h"

namespace cormorant {
namespace {

// Cannot fail: load has seen it succeed.
Source source_of(const cormorant_program& program) {
  return {{static_cast<const std::byte*>(program.data), program.bytes},
          program.method,
          {program.arenas, program.arena_count}};
}

std::size_t count(const cormorant_program& program, bool is_output) {
  return source_of(program).io_values(is_output).value().size();
}

Error describe(const cormorant_program& program, bool is_output, std::size_t index, cormorant_tensor& result) {
  const Source source = source_of(program);
  Tensor tensor;
  const Error error = source.resolve_io(source.io_values(is_output).value(), index, tensor);
  if (error != Error::ok) return error;
  result = {.data = tensor.data,
            .bytes = tensor.bytes(),
            .sizes = tensor.sizes,
            .order = tensor.dim_order,
            .rank = tensor.rank,
            .type = static_cast<cormorant_type>(tensor.dtype)};
  return Error::ok;
}

// Inputs and outputs are numbered together in the notes. `index` must be that of an input or output.
std::size_t number_of(const Source& source, bool is_output, std::size_t index) {
  return is_output ? source.io_values(false).value().size() + index : index;
}

Error quantization(const cormorant_program& program, bool is_output, std::size_t index,
                   cormorant_quantization& result) {
  const Source source = source_of(program);
  if (index >= source.io_values(is_output).value().size()) return Error::bad_input;
  const auto read =
      pte::read_quantization(source.method(), pte::find_notes(source.method()), number_of(source, is_output, index));
  if (!read.ok()) return read.error();
  result = {static_cast<float>(read.value().scale), read.value().zero_point};
  return Error::ok;
}

const char* name(const cormorant_program& program, bool is_output, std::size_t index) {
  const Source source = source_of(program);
  if (index >= source.io_values(is_output).value().size()) return "";
  const auto read =
      pte::read_name(source.method(), pte::find_notes(source.method()), number_of(source, is_output, index));
  if (!read.ok() || read.value().empty()) return "";
  // The format ends strings with a zero, but a damaged file may not.
  const char* const end = read.value().data() + read.value().size();
  const bool is_inside = end < static_cast<const char*>(program.data) + program.bytes;
  return is_inside && *end == '\0' ? read.value().data() : "";
}

}  // namespace
}  // namespace cormorant

using namespace cormorant;

void cormorant_reset(const cormorant_program* program) { source_of(*program).reset(); }

size_t cormorant_input_count(const cormorant_program* program) { return count(*program, false); }
size_t cormorant_output_count(const cormorant_program* program) { return count(*program, true); }

cormorant_error cormorant_input(const cormorant_program* program, size_t index, cormorant_tensor* tensor) {
  return static_cast<cormorant_error>(describe(*program, false, index, *tensor));
}
cormorant_error cormorant_output(const cormorant_program* program, size_t index, cormorant_tensor* tensor) {
  return static_cast<cormorant_error>(describe(*program, true, index, *tensor));
}

cormorant_error cormorant_input_quantization(const cormorant_program* program, size_t index,
                                             cormorant_quantization* result) {
  return static_cast<cormorant_error>(quantization(*program, false, index, *result));
}
cormorant_error cormorant_output_quantization(const cormorant_program* program, size_t index,
                                              cormorant_quantization* result) {
  return static_cast<cormorant_error>(quantization(*program, true, index, *result));
}

const char* cormorant_input_name(const cormorant_program* program, size_t index) {
  return name(*program, false, index);
}
const char* cormorant_output_name(const cormorant_program* program, size_t index) {
  return name(*program, true, index);
}
