// SPDX-License-Identifier: Apache-2.0
//
// Kernels that misbehave on a board. fault_test.cc compiles them for a Cortex-M55 and puts them into a copy of its
// archive; a program that names them then gets there in the usual way.
#include "runtime/kernel.h"

namespace cormorant {
namespace {

struct Arguments {
  static constexpr std::uint32_t kStateBytes = 40;
  Tensor input;
  OutTensor out;

  template <class Visitor>
  void visit(Visitor& v) {
    v("input", input);
    v("out", out);
  }
};

Error load(Call& call) {
  call.read_plan<Arguments>();
  return call.error();
}

void touch_nothing(const void* /*plan*/) { *reinterpret_cast<volatile std::uint32_t*>(0xf0000000) = 1; }

void hang(const void* /*plan*/) {
  for (;;) asm volatile("");
}

Error refuse(Call& call) {
  load(call);
  call.fail(Error::scratch_too_small, 4096, 512);
  return call.error();
}

}  // namespace

CORMORANT_KERNEL(cormorant_test_fault, "cormorant::test.fault", load, touch_nothing)
CORMORANT_KERNEL(cormorant_test_hang, "cormorant::test.hang", load, hang)
CORMORANT_KERNEL(cormorant_test_refuse, "cormorant::test.refuse", refuse, hang)

}  // namespace cormorant
