// SPDX-License-Identifier: Apache-2.0
//
// A firmware of one's own around the wave model: loads it once, listens to a sawtooth, says what it heard. On hardware
// the console is a serial port and samples come from a converter.
#include "console.h"
#include "wave.h"  // generated

namespace {

wave::Model model;

void listen(cormorant::Span<float> samples) {
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 0.7F * (static_cast<float>(i % 24) / 12 - 1);
}

size_t largest(cormorant::Span<float> values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

}  // namespace

int main() {
  cormorant::Failure why;
  if (model.load(&why) != cormorant::Error::ok) {
    console_print(describe(why.error));
    return 1;
  }
  listen(model.input_x());
  model.execute();

  static constexpr const char* kNames[] = {"sine", "square", "sawtooth", "nothing"};
  console_print("heard: ");
  console_print(kNames[largest(model.output())]);
  console_print("\n");
  return 0;
}
