/* SPDX-License-Identifier: Apache-2.0
 *
 * A network that names a wave, without a single peripheral: a debugger finds the answer in `heard`, which is -1 until
 * it is known. Clocks are those after reset.
 */
#include "wave.h"

volatile int heard = -1; /* 0 sine, 1 square, 2 sawtooth, 3 nothing */
volatile int status = -1;
static cormorant_program program;

/* Where start-up code and faults end. */
void console_exit(int ended_with) {
  status = ended_with;
  for (;;) {
  }
}

int main(void) {
  cormorant_failure why;
  size_t i, best = 0;
  const int8_t* scores;
  if (wave_load(&program, &why) != CORMORANT_OK) return (int)why.error;
  for (i = 0; i < WAVE_INPUT_X_ELEMENTS; ++i) {
    wave_input_x(&program)[i] = wave_quantize_input_x(0.7f * ((float)(i % 24) / 12.0f - 1.0f));
  }
  wave_run(&program);
  scores = wave_output(&program);
  for (i = 1; i < WAVE_OUTPUT_ELEMENTS; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  heard = (int)best;
  return 0;
}
