/* SPDX-License-Identifier: Apache-2.0
 *
 * Listens to a sawtooth and says what it heard, in C99. Between two instructions of the network it does something else.
 */
#include "console.h"
#include "wave.h"

static cormorant_program program;

static void listen(int8_t* samples) {
  size_t i;
  for (i = 0; i < WAVE_INPUT_X_ELEMENTS; ++i) {
    samples[i] = wave_quantize_input_x(0.7f * ((float)(i % 24) / 12.0f - 1.0f));
  }
}

int main(void) {
  static const char* const names[] = {"sine", "square", "sawtooth", "nothing"};
  cormorant_failure why;
  size_t step, i, best = 0;
  const int8_t* scores;
  if (wave_load(&program, &why) != CORMORANT_OK) {
    console_print(cormorant_describe(why.error));
    return 1;
  }

  listen(wave_input_x(&program));
  for (step = 0; step < program.step_count; ++step) {
    cormorant_execute_step(&program, step);
    console_print("."); /* a watchdog, a button, another task */
  }
  scores = wave_output(&program);
  for (i = 1; i < WAVE_OUTPUT_ELEMENTS; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  console_print(" heard: ");
  console_print(names[best]);
  console_print(", ");
  console_print_number((int32_t)(100 * wave_dequantize_output(scores[best])));
  console_print(" %\n");
  return 0;
}
