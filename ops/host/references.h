// SPDX-License-Identifier: Apache-2.0
//
// The compiler's side of an operator's list (ops/load/kernel_list.h). At the end of reference.cc, in the operator's
// namespace, CORMORANT_REFERENCES(add, CORMORANT_ADD_KERNELS) turns it into ListedKernels, whose `execute` is the
// function of that name in the file. Kernels for any CPU are the host's as well.
#pragma once

#include "ops/load/kernel_list.h"
#include "ops/op.h"
#include "runtime/kernel.h"

// By a C symbol, so that the generated table of operators finds it whatever the operator's namespace is.
#define CORMORANT_REFERENCES(op, LIST)                                             \
  LIST(CORMORANT_DECLARE_OURS, CORMORANT_DECLARE_THEIRS, CORMORANT_DECLARE_THEIRS) \
  namespace {                                                                      \
  [[maybe_unused]] constexpr Loops kLoops = Loops::reference;                      \
  }                                                                                \
  extern "C" void cormorant_list_##op(std::vector<ListedKernel>& list);            \
  extern "C" void cormorant_list_##op(std::vector<ListedKernel>& list) {           \
    LIST(CORMORANT_ADD_OURS, CORMORANT_ADD_THEIRS, CORMORANT_ADD_FOREIGN)          \
  }

#define CORMORANT_DECLARE_OURS(op, overload, code, ...)                            \
  CORMORANT_IN_##code(, , , , extern "C" const Kernel cormorant_##op##_##overload; \
                      , extern "C" const Kernel cormorant_##op##_##overload;, , , , )
#define CORMORANT_DECLARE_THEIRS(library, op, overload, code, ...) \
  CORMORANT_IN_##code(, , , , extern "C" const Kernel library##_##op##_##overload##_scalar;, , , , , )

#define CORMORANT_ADD_OURS(op, overload, code, load, execute, precision, S)                               \
  CORMORANT_ADD(cormorant_##op##_##overload, cormorant_##op##_##overload, code, load, execute, precision, \
                signature_of<S>(names::cormorant_##op##_##overload))
#define CORMORANT_ADD_THEIRS(library, op, overload, code, load, execute, precision, S)                             \
  CORMORANT_ADD(library##_##op##_##overload, library##_##op##_##overload##_scalar, code, load, execute, precision, \
                signature_of<S>(names::library##_##op##_##overload))
#define CORMORANT_ADD_FOREIGN(library, op, overload, code, load, execute, precision)                               \
  CORMORANT_ADD(library##_##op##_##overload, library##_##op##_##overload##_scalar, code, load, execute, precision, \
                std::nullopt)

#define CORMORANT_ADD(name, symbol, code, load, execute, precision, signature)                              \
  {                                                                                                         \
    CORMORANT_HOST_KERNEL_##code(CORMORANT_OWN_LOOPS(name, load, execute), CORMORANT_SAME_SOURCE(symbol))   \
        list.push_back({names::name, signature, precisions::precision(),                                    \
                        isas_of(0 CORMORANT_IN_##code(| 1, | 2, | 4, | 2, , , | 1, | 2, | 4, )), &kernel}); \
  }
#define CORMORANT_OWN_LOOPS(name, load, execute) static constexpr Kernel kernel = {names::name, load, execute};
#define CORMORANT_SAME_SOURCE(symbol) const Kernel& kernel = symbol;
#define CORMORANT_HOST_KERNEL_scalar(own, same) own
#define CORMORANT_HOST_KERNEL_dsp(own, same) own
#define CORMORANT_HOST_KERNEL_mve(own, same) own
#define CORMORANT_HOST_KERNEL_scalar_mve(own, same) own
#define CORMORANT_HOST_KERNEL_scalar_dsp_mve(own, same) own
#define CORMORANT_HOST_KERNEL_dsp_small(own, same) own
#define CORMORANT_HOST_KERNEL_any_cpu(own, same) same
#define CORMORANT_HOST_KERNEL_any_cpu_mve(own, same) same
#define CORMORANT_HOST_KERNEL_words(own, same) same
#define CORMORANT_HOST_KERNEL_scalar_words(own, same) own
#define CORMORANT_HOST_KERNEL_dsp_words(own, same) own
#define CORMORANT_HOST_KERNEL_mve_words(own, same) own
