/* SPDX-License-Identifier: Apache-2.0
 *
 * Cormorant's runtime for firmware in C99; cormorant.hpp is the same for C++17. Nothing here allocates, prints or needs
 * more than a freestanding compiler. The model is a program (.pte) written by `cormorant compile`.
 *
 *   static cormorant_program program;
 *   cormorant_failure why;
 *   if (cormorant_load(&program, &model, &memory, &why) != CORMORANT_OK) {
 *     printf("%s\n", cormorant_describe(why.error));
 *   }
 *   cormorant_tensor input, output;
 *   cormorant_input(&program, 0, &input);
 *   cormorant_output(&program, 0, &output);
 *   memcpy(input.data, samples, input.bytes);
 *   cormorant_execute(&program);
 *
 * cormorant_add_model() in CMake, or cormorant-glue, writes `model`, `memory` and a header with all sizes for a
 * program.
 */
#ifndef CORMORANT_CORMORANT_H
#define CORMORANT_CORMORANT_H

#include "cormorant/types.h"

/* For the sizes in generated headers; `what` is a name that the compiler's message shows. */
#ifdef __cplusplus
#define CORMORANT_STATIC_ASSERT(condition, what) static_assert(condition, #what)
#else
#define CORMORANT_STATIC_ASSERT(condition, what) typedef char cormorant_##what[(condition) ? 1 : -1]
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What is loaded, and into which memory ------------------------------------------------------------------------
 */

/* One kernel of the archives, known by its symbol: `extern const cormorant_kernel cormorant_add_mve;`. */
typedef struct cormorant_kernel cormorant_kernel;

/* A program and the kernels it may call. The table may hold more than this program needs, so that several programs
 * share one; one in the order of the program's operators is searched fastest. */
typedef struct cormorant_model {
  const void* data; /* the .pte: 16-byte aligned; stays where it is as long as the program is used */
  size_t bytes;
  const char* method; /* usually "forward" */
  const cormorant_kernel* const* kernels;
  size_t kernel_count;
} cormorant_model;

typedef struct cormorant_region {
  void* data;
  size_t bytes;
} cormorant_region;

/* All of it, the array of arenas included, must outlive the program. */
typedef struct cormorant_memory {
  cormorant_region state;         /* what the runtime keeps per operator; 8-byte alignment wastes none of it */
  const cormorant_region* arenas; /* [0] is the program's memory id 1, and so on; 16-byte aligned */
  size_t arena_count;
} cormorant_memory;

typedef struct cormorant_step {
  void (*execute)(const void* plan);
  const void* plan;
} cormorant_step;

/* A loaded program. Its fields are for the functions below. */
typedef struct cormorant_program {
  const void* data;
  size_t bytes;
  const cormorant_region* arenas;
  size_t arena_count;
  const cormorant_step* steps;
  size_t step_count; /* instructions, in the order of execution */
  size_t state_used; /* bytes of the state that it took */
  uint32_t method;
} cormorant_program;

/* Verifies everything it reads: a damaged file is an error, never undefined behaviour. `why` may be null. Loading
 * again, even another model, starts afresh. After a failure *program is empty, whatever it was before, as if it were
 * zeroed and had never been loaded: it has no inputs or outputs, and executing it does nothing. */
cormorant_error cormorant_load(cormorant_program* program, const cormorant_model* model, const cormorant_memory* memory,
                               cormorant_failure* why);

/* Called by every load before it reads anything from the file. The default in the archives accepts all files. Firmware
 * that defines its own (a checksum, a signature) loads only what it accepts; if it returns 0, load fails with
 * CORMORANT_REFUSED. */
int cormorant_accept(const void* data, size_t bytes);

/* Buffers that the model mutates from one execution to the next get their initial contents back; load does so too. */
void cormorant_reset(const cormorant_program* program);

/* The same buffers as one span of bytes, for a stream that is interrupted, or several streams that share one program:
 * save what one of them has heard, restore another's, execute. The bytes are only meaningful to the same file, but
 * restoring any bytes is safe. */
size_t cormorant_buffer_bytes(const cormorant_program* program);
void cormorant_save(const cormorant_program* program, void* to);
void cormorant_restore(const cormorant_program* program, const void* from);

/* ---- Execution: it cannot fail ------------------------------------------------------------------------------------
 */

/* Write all inputs before each execution, read the outputs before the next: other tensors use their memory, too. */
static inline void cormorant_execute(const cormorant_program* program) {
  const cormorant_step* step = program->steps;
  const cormorant_step* const end = step + program->step_count;
  for (; step != end; ++step) step->execute(step->plan);
}

/* A single instruction, for firmware that does something else in between. `step` counts from 0 to step_count − 1;
 * an execution is all of them, in this order. */
static inline void cormorant_execute_step(const cormorant_program* program, size_t step) {
  program->steps[step].execute(program->steps[step].plan);
}

/* ---- An image that arrives by rows --------------------------------------------------------------------------------
 *
 * Programs compiled with --feed=rows have no room for the whole image: each row is used as it arrives, and the outputs
 * are complete when the last has. Their input is one row; the rows to push may be in its memory or anywhere else.
 */

/* Takes the next `count` rows, from the top of the image downwards, each as the input describes it (pixels one after
 * another, with all their channels), at any alignment. Only this function executes such a program. The image's last
 * row completes the outputs, which remain until the next row, the first of the next image. CORMORANT_TOO_MANY_ROWS and
 * CORMORANT_NOT_BY_ROWS mean that nothing was done. */
cormorant_error cormorant_push_rows(const cormorant_program* program, const void* rows, size_t count);

/* How many rows of the image are missing: all of them before the first and after the last. 0 if the program takes its
 * inputs whole. */
size_t cormorant_missing_rows(const cormorant_program* program);

/* Forgets the rows of an image that will not be completed: the next row is the first again. */
void cormorant_drop_rows(const cormorant_program* program);

/* ---- Inputs and outputs -------------------------------------------------------------------------------------------
 */

typedef struct cormorant_tensor {
  void* data; /* in an arena, aligned for its type */
  uint32_t bytes;
  const int32_t* sizes; /* of each dimension, in PyTorch's order (NCHW) */
  const uint8_t* order; /* the dimensions as they nest in memory, outermost first: 0 2 3 1 is channels-last */
  uint8_t rank;         /* the number of dimensions */
  cormorant_type type;
} cormorant_tensor;

/* A stored integer q represents scale · (q − zero_point). */
typedef struct cormorant_quantization {
  float scale; /* 0: the tensor is not quantized */
  int32_t zero_point;
} cormorant_quantization;

size_t cormorant_input_count(const cormorant_program* program);
size_t cormorant_output_count(const cormorant_program* program);

/* CORMORANT_BAD_INPUT if it does not exist; nothing else can go wrong with a loaded program. */
cormorant_error cormorant_input(const cormorant_program* program, size_t index, cormorant_tensor* tensor);
cormorant_error cormorant_output(const cormorant_program* program, size_t index, cormorant_tensor* tensor);

/* From the file, verified here because firmware rarely needs it: the constants in the generated header are the same.
 * Programs of other compilers do not record it, which means "not quantized". */
cormorant_error cormorant_input_quantization(const cormorant_program* program, size_t index,
                                             cormorant_quantization* quantization);
cormorant_error cormorant_output_quantization(const cormorant_program* program, size_t index,
                                              cormorant_quantization* quantization);

/* An input is called what the model's argument is called, an output what its key is in the dictionary that the model
 * returns; "" if there is none. The text is part of the file. */
const char* cormorant_input_name(const cormorant_program* program, size_t index);
const char* cormorant_output_name(const cormorant_program* program, size_t index);

#ifdef __cplusplus
}
#endif

#endif
