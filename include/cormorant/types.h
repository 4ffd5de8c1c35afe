/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors and element types, as numbers that C and C++ share.
 */
#ifndef CORMORANT_TYPES_H
#define CORMORANT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The hundreds digit says what is at fault: 1 the file, 2 the firmware, 3 the memory, 4 the caller. */
typedef uint16_t cormorant_error;
enum {
  CORMORANT_OK = 0,
  /* The file is invalid. */
  CORMORANT_BAD_HEADER = 100,    /* not a .pte, or cut short */
  CORMORANT_BAD_STRUCTURE = 101, /* an offset, index or length leads outside its bounds */
  CORMORANT_BAD_VALUE = 102,     /* an argument has another type than the operator's signature says */
  CORMORANT_BAD_SHAPE = 103,     /* sizes that the operator cannot compute, or that disagree with each other */
  CORMORANT_BAD_CONSTANT = 104,  /* constant data missing, misplaced or of the wrong size */
  CORMORANT_HAS_DELEGATE = 105,  /* a delegate's blob: only plain operators run here */
  CORMORANT_BAD_MEMORY = 106,    /* tensors share memory in a way that the operator does not offer */
  /* The file is valid, but this firmware does not support it. */
  CORMORANT_UNKNOWN_OPERATOR = 200, /* not in the kernel table handed to load */
  CORMORANT_UNSUPPORTED = 201,      /* a known operator with arguments that this kernel does not compute */
  /* The memory supplied, or planned by the compiler, is unsuitable. */
  CORMORANT_STATE_TOO_SMALL = 300,
  CORMORANT_ARENA_TOO_SMALL = 301,
  CORMORANT_MISALIGNED = 302,
  CORMORANT_SCRATCH_TOO_SMALL = 303,
  CORMORANT_SCRATCH_MISMATCH = 304, /* checked builds only: planned more than required */
  /* The call is wrong. */
  CORMORANT_NO_SUCH_METHOD = 400,
  CORMORANT_BAD_INPUT = 401,    /* no such input or output */
  CORMORANT_REFUSED = 402,      /* by the firmware's own cormorant_accept() */
  CORMORANT_NOT_BY_ROWS = 403,  /* the program takes whole inputs: it was compiled without --feed=rows */
  CORMORANT_TOO_MANY_ROWS = 404 /* more than the image still lacks */
};

/* A short English description of an error, for firmware with a console. */
const char* cormorant_describe(cormorant_error error);

/* Where loading stopped and why; the figures are in the unit of the error (bytes of memory), 0 where there are none. */
typedef struct cormorant_failure {
  cormorant_error error;
  uint16_t instruction; /* CORMORANT_NONE: header, memory, inputs or outputs */
  uint16_t argument;    /* of the instruction, else the input, output or arena; CORMORANT_NONE: all of them */
  uint32_t required;
  uint32_t actual;
} cormorant_failure;
#define CORMORANT_NONE 0xffff

/* Types of elements; the numbers are PyTorch's. */
typedef uint8_t cormorant_type;
enum {
  CORMORANT_UINT8 = 0,
  CORMORANT_INT8 = 1,
  CORMORANT_INT16 = 2,
  CORMORANT_INT32 = 3,
  CORMORANT_INT64 = 4,
  CORMORANT_FLOAT16 = 5,
  CORMORANT_FLOAT32 = 6,
  CORMORANT_FLOAT64 = 7,
  CORMORANT_BOOL = 11,
  CORMORANT_BFLOAT16 = 15
};

#ifdef __cplusplus
}
#endif

#endif
