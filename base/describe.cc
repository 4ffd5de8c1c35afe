// SPDX-License-Identifier: Apache-2.0
#include "cormorant/types.hpp"

// Not a table by number: the numbers leave gaps, and this is linked only by firmware that has a console.
const char* cormorant_describe(cormorant_error error) {
  using cormorant::Error;
  switch (static_cast<Error>(error)) {
    case Error::ok:
      return "ok";
    case Error::bad_header:
      return "not a .pte program, or cut short";
    case Error::bad_structure:
      return "the program is damaged: an offset, index or length leads outside its bounds";
    case Error::bad_value:
      return "an argument's type is not what the operator's signature says";
    case Error::bad_shape:
      return "tensor sizes disagree with what the operator computes";
    case Error::bad_constant:
      return "constant data is missing, misplaced or of the wrong size";
    case Error::has_delegate:
      return "the program holds a delegate's blob; only plain operators run here";
    case Error::bad_memory:
      return "tensors of an instruction share memory in a way that the operator does not offer";
    case Error::unknown_operator:
      return "the operator table of this firmware does not have the operator";
    case Error::unsupported:
      return "this kernel variant does not compute these arguments";
    case Error::state_too_small:
      return "the state memory is too small";
    case Error::arena_too_small:
      return "the arena is too small for the memory plan";
    case Error::misaligned:
      return "memory is not aligned as the kernel needs it";
    case Error::scratch_too_small:
      return "a scratch tensor is smaller than the kernel requires";
    case Error::scratch_mismatch:
      return "a scratch tensor is larger than the kernel requires";
    case Error::no_such_method:
      return "the program has no such method";
    case Error::bad_input:
      return "no such input or output";
    case Error::refused:
      return "the firmware's own check refused the file";
    case Error::not_by_rows:
      return "the program does not take its input by rows";
    case Error::too_many_rows:
      return "more rows than the image still lacks";
  }
  return "unknown error";
}
