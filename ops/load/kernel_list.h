// SPDX-License-Identifier: Apache-2.0
//
// One list per operator, in <op>.h, with a line for each instruction that a program can hold. Everything that needs the
// list reads it: the compiler (names, signatures, precisions), the host's runtime (its reference kernels), the archives
// (the kernels' symbols), the documentation's table.
//
//   #define CORMORANT_ADD_KERNELS(OURS, THEIRS, FOREIGN)
//     THEIRS(cortex_m, quantized_add, out, scalar_dsp_mve, load, execute, w8a8, QuantizedAdd)
//     OURS(add, mve, mve, load_factor, execute_factor, w8a8, FactorAdd)
//     THEIRS(aten, add, out, any_cpu, load_float<1>, execute_float, f32, FloatAdd)
//   CORMORANT_NAMES(CORMORANT_ADD_KERNELS)
//
// OURS(operator, overload, …) is cormorant::<operator>.<overload>; the overload distinguishes variants. THEIRS(library,
// operator, overload, …) has an ExecuTorch name and schema. FOREIGN is the same, but occurs only in programs of other
// compilers: no node of a graph is one. What follows the name:
//   code       the files that define its kernels: kernel_scalar.cc, …; any_cpu is kernel_float.cc, one source for all,
//              and so is words, kernel_words.cc, for activations of 16 bits; scalar_words, … are
//              kernel_scalar_words.cc, …; any_cpu_mve is any_cpu, and kernel_mve_float.cc for CPUs with MVE
//   load       reads and checks the arguments, everywhere (kernel.cc)
//   execute    looked up where the list is read: each kernel file defines its own, reference.cc the host's. An operator
//              that only puts shared loops together gives a template over kLoops instead, and has no kernel files.
//   precision  what it computes with, of ops::precisions
//   signature  its arguments (not for FOREIGN)
#pragma once

#include "kernels/loops.h"

// names::cormorant_add_mve = "cormorant::add.mve": what a program calls them. The identifiers are unique in all
// operators. They are arrays, not pointers to literals, so that firmware links a name only together with its kernel.
#define CORMORANT_NAMES(LIST)                                                               \
  namespace cormorant::ops::names {                                                         \
  LIST(CORMORANT_DEFINE_OUR_NAME, CORMORANT_DEFINE_THEIR_NAME, CORMORANT_DEFINE_THEIR_NAME) \
  }
#define CORMORANT_DEFINE_OUR_NAME(op, overload, ...) \
  inline constexpr char cormorant_##op##_##overload[] = "cormorant::" #op "." #overload;
#define CORMORANT_DEFINE_THEIR_NAME(library, op, overload, ...) \
  inline constexpr char library##_##op##_##overload[] = #library "::" #op "." #overload;

// At the end of a kernel file, in the operator's namespace: the kernels of the list that this file defines, under the
// symbols that runner/symbol.h computes from their names.
#define CORMORANT_KERNELS(LIST, code)                               \
  namespace {                                                       \
  [[maybe_unused]] constexpr Loops kLoops = CORMORANT_LOOPS_##code; \
  }                                                                 \
  LIST(CORMORANT_OURS_##code, CORMORANT_THEIRS_##code, CORMORANT_THEIRS_##code)

// Which of ten belong to a code: CORMORANT_IN_<code>(scalar, dsp, mve, dsp_small, any_cpu, words, scalar_words,
// dsp_words, mve_words, mve_float).
#define CORMORANT_IN_scalar(scalar, ...) scalar
#define CORMORANT_IN_dsp(scalar, dsp, ...) dsp
#define CORMORANT_IN_mve(scalar, dsp, mve, ...) mve
#define CORMORANT_IN_scalar_mve(scalar, dsp, mve, ...) scalar mve
#define CORMORANT_IN_scalar_dsp_mve(scalar, dsp, mve, ...) scalar dsp mve
#define CORMORANT_IN_dsp_small(scalar, dsp, mve, dsp_small, ...) dsp_small
#define CORMORANT_IN_any_cpu(scalar, dsp, mve, dsp_small, any_cpu, ...) any_cpu
#define CORMORANT_IN_words(scalar, dsp, mve, dsp_small, any_cpu, words, ...) words
#define CORMORANT_IN_scalar_words(scalar, dsp, mve, dsp_small, any_cpu, words, scalar_words, ...) scalar_words
#define CORMORANT_IN_dsp_words(scalar, dsp, mve, dsp_small, any_cpu, words, scalar_words, dsp_words, ...) dsp_words
#define CORMORANT_IN_mve_words(scalar, dsp, mve, dsp_small, any_cpu, words, scalar_words, dsp_words, mve_words, ...) \
  mve_words
#define CORMORANT_IN_any_cpu_mve(scalar, dsp, mve, dsp_small, any_cpu, words, scalar_words, dsp_words, mve_words, \
                                 mve_float)                                                                       \
  any_cpu mve_float

#define CORMORANT_LOOPS_scalar Loops::scalar
#define CORMORANT_LOOPS_dsp Loops::dsp
#define CORMORANT_LOOPS_mve Loops::mve
#define CORMORANT_LOOPS_dsp_small Loops::dsp
#define CORMORANT_LOOPS_any_cpu Loops::scalar
#define CORMORANT_LOOPS_words Loops::scalar
#define CORMORANT_LOOPS_scalar_words Loops::scalar
#define CORMORANT_LOOPS_dsp_words Loops::dsp
#define CORMORANT_LOOPS_mve_words Loops::mve
#define CORMORANT_LOOPS_mve_float Loops::mve

// Kernels for other types, CORMORANT_<OP>_NUMBERS(NUMBERS): lines NUMBERS(library, operator, overload, load, execute)
// for names whose other kernel takes only floats (or, for cat, only one type). They take all types, including floats,
// and have the same name, so firmware has one or the other: this one if its program calls the operator with tensors
// that are not float (runner/program_facts.h). The symbol has "_numbers" after the name.
#define CORMORANT_NUMBERS_KERNELS(LIST) LIST(CORMORANT_NUMBERS_KERNEL)
#define CORMORANT_NUMBERS_KERNEL(library, op, overload, load, execute) \
  CORMORANT_KERNEL(library##_##op##_##overload##_numbers_scalar, #library "::" #op "." #overload, load, execute)

#define CORMORANT_OUR_KERNEL(op, overload, load, execute) \
  CORMORANT_KERNEL(cormorant_##op##_##overload, names::cormorant_##op##_##overload, load, execute)
#define CORMORANT_OURS_scalar(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(CORMORANT_OUR_KERNEL(op, overload, load, execute), , , , , , , , , )
#define CORMORANT_OURS_dsp(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, CORMORANT_OUR_KERNEL(op, overload, load, execute), , , , , , , , )
#define CORMORANT_OURS_mve(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , CORMORANT_OUR_KERNEL(op, overload, load, execute), , , , , , , )
#define CORMORANT_OURS_dsp_small(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , CORMORANT_OUR_KERNEL(op, overload, load, execute), , , , , , )
#define CORMORANT_OURS_any_cpu(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , , CORMORANT_OUR_KERNEL(op, overload, load, execute), , , , , )
#define CORMORANT_OURS_words(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , , , CORMORANT_OUR_KERNEL(op, overload, load, execute), , , , )
#define CORMORANT_OURS_scalar_words(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , , , , CORMORANT_OUR_KERNEL(op, overload, load, execute), , , )
#define CORMORANT_OURS_dsp_words(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , , , , , CORMORANT_OUR_KERNEL(op, overload, load, execute), , )
#define CORMORANT_OURS_mve_words(op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , , , , , , CORMORANT_OUR_KERNEL(op, overload, load, execute), )
#define CORMORANT_OURS_mve_float(...)

// Their names do not include the instruction set, so the symbols do.
#define CORMORANT_THEIR_KERNEL(name, isa, load, execute) CORMORANT_KERNEL(name##_##isa, names::name, load, execute)
#define CORMORANT_THEIRS_scalar(library, op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(CORMORANT_THEIR_KERNEL(library##_##op##_##overload, scalar, load, execute), , , , , , , , , )
#define CORMORANT_THEIRS_dsp(library, op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, CORMORANT_THEIR_KERNEL(library##_##op##_##overload, dsp, load, execute), , , , , , , , )
#define CORMORANT_THEIRS_mve(library, op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , CORMORANT_THEIR_KERNEL(library##_##op##_##overload, mve, load, execute), , , , , , , )
#define CORMORANT_THEIRS_dsp_small(...)
#define CORMORANT_THEIRS_any_cpu(library, op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , , CORMORANT_THEIR_KERNEL(library##_##op##_##overload, scalar, load, execute), , , , , )
#define CORMORANT_THEIRS_words(...)
#define CORMORANT_THEIRS_scalar_words(...)
#define CORMORANT_THEIRS_dsp_words(...)
#define CORMORANT_THEIRS_mve_words(...)
#define CORMORANT_THEIRS_mve_float(library, op, overload, code, load, execute, ...) \
  CORMORANT_IN_##code(, , , , , , , , , CORMORANT_THEIR_KERNEL(library##_##op##_##overload, mve, load, execute))
