/* SPDX-License-Identifier: Apache-2.0
 *
 * Listens to a sawtooth and says what it heard.
 */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "wave.h"

static cormorant_program program;

int main(void) {
  static const char* const names[] = {"sine", "square", "sawtooth", "nothing"};
  cormorant_failure why;
  if (wave_load(&program, &why) != CORMORANT_OK) {
    printk("load failed: %s\n", cormorant_describe(why.error));
    return 0;
  }
  int8_t* const samples = wave_input_x(&program);
  for (size_t i = 0; i < WAVE_INPUT_X_ELEMENTS; ++i) {
    samples[i] = wave_quantize_input_x(0.7f * ((float)(i % 24) / 12.0f - 1.0f));
  }
  wave_run(&program);
  const int8_t* const scores = wave_output(&program);
  size_t best = 0;
  for (size_t i = 1; i < WAVE_OUTPUT_ELEMENTS; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  printk("heard: %s\n", names[best]);
  return 0;
}
