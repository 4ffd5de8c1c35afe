// SPDX-License-Identifier: Apache-2.0
//
// The target's error vocabulary. Errors are grouped by who can mend them, so that a firmware engineer who sees only a
// number knows where to look: 1xx the file, 2xx the firmware, 3xx the memory, 4xx the caller.
#pragma once

#include <cstdint>
#include <utility>

namespace cormorant {

enum class Error : std::uint16_t {
  ok = 0,
  // The file is not one we can believe.
  bad_header = 100,     // not a .pte, or cut short
  bad_structure = 101,  // an offset, index or length leads outside its bounds
  bad_value = 102,      // an argument has another type than the operator's signature says
  bad_shape = 103,      // sizes that the operator cannot compute, or that disagree with each other
  bad_constant = 104,   // constant data missing, misplaced or of the wrong size
  has_delegate = 105,   // a delegate's blob: only plain operators run here
  bad_memory = 106,     // tensors of an instruction share memory in a way that its kernel does not offer
  // The file is sound, but this firmware is not made for it.
  unknown_operator = 200,  // not in the operator table handed to load
  unsupported = 201,       // a known operator with arguments that this kernel variant does not compute
  // The memory handed over, or planned by the compiler, does not do.
  state_too_small = 300,
  arena_too_small = 301,
  misaligned = 302,
  scratch_too_small = 303,
  scratch_mismatch = 304,  // checked builds only: planned more than required
  // The call is wrong.
  no_such_method = 400,
  bad_input = 401,
};

template <class T>
class [[nodiscard]] Result {
 public:
  constexpr Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  constexpr Result(Error error) : error_(error) {}         // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr bool ok() const { return error_ == Error::ok; }
  [[nodiscard]] constexpr Error error() const { return error_; }
  [[nodiscard]] constexpr const T& value() const { return value_; }
  [[nodiscard]] constexpr T& value() { return value_; }

 private:
  T value_{};
  Error error_ = Error::ok;
};

// One English clause per error, for hosts and for firmware that has a console.
constexpr const char* describe(Error error) {
  switch (error) {
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
  }
  return "unknown error";
}

}  // namespace cormorant
