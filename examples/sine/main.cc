// SPDX-License-Identifier: Apache-2.0
//
// A quarter of a sine, drawn by a network on a microcontroller with 3 KB of RAM.
#define SINE_RAM_LIMIT 1024
#include "console.h"
#include "sine.h"

namespace {
sine::Model model;
}

int main() {
  cormorant::Failure why;
  if (model.load(&why) != cormorant::Error::ok) {
    console_print(describe(why.error));
    return 1;
  }
  for (int tenths = 0; tenths <= 15; tenths += 3) {
    model.input_angle()[0] = sine::Model::quantize_input_angle(static_cast<float>(tenths) / 10);
    model.execute();
    const float value = sine::Model::dequantize_output_sine(model.output_sine()[0]);
    console_print_number(static_cast<int32_t>(100 * value + 0.5F));
    console_print(tenths == 15 ? "\n" : " ");
  }
  return 0;
}
