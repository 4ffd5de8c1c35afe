// SPDX-License-Identifier: Apache-2.0
//
// Two models in one firmware: one makes a wave, the other says what it is. They share their kernels and one arena.
#include "console.h"
#include "sine.h"
#include "wave.h"

namespace {

sine::Model make;
wave::Model listen;
float samples[WAVE_INPUT_X_ELEMENTS];

void fill() {
  constexpr float kTurn = 6.2831853F;
  float angle = 0;
  for (float& sample : samples) {
    make.input_angle()[0] = angle;
    make.execute();
    sample = 0.7F * make.output_sine()[0];
    angle += kTurn / 32;
    if (angle > kTurn) angle -= kTurn;
  }
}

}  // namespace

int main() {
  if (make.load() != cormorant::Error::ok || listen.load() != cormorant::Error::ok) return 1;
  if (sine_memory.arenas[0].data != wave_memory.arenas[0].data) return 2;

  fill();
  // From here on the arena is the other model's: its inputs are written after the first model has run.
  for (size_t i = 0; i < WAVE_INPUT_X_ELEMENTS; ++i) listen.input_x()[i] = samples[i];
  listen.execute();
  const cormorant::Span<float> scores = listen.output();
  size_t best = 0;
  for (size_t i = 1; i < scores.size(); ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  static const char* const kNames[] = {"sine", "square", "sawtooth", "nothing"};
  console_print("heard: ");
  console_print(kNames[best]);
  console_print("\n");
  return 0;
}
