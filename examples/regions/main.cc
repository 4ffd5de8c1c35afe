// SPDX-License-Identifier: Apache-2.0
//
// An image classifier whose activations are in two memories: what is used most in the fast one, the rest in the slow.
// The model itself is in flash outside of the chip.
#include "console.h"
#include "digits.h"

namespace {

digits::Model model;

// A handwritten one.
void draw(cormorant::Span<int8_t> image) {
  constexpr size_t kWidth = 28;
  for (size_t y = 0; y < kWidth; ++y) {
    for (size_t x = 0; x < kWidth; ++x) {
      const bool is_ink = y >= 4 && y < 24 && (x == 13 || x == 14);
      image[y * kWidth + x] = digits::Model::quantize_input_x(is_ink ? 1.0F : 0.0F);
    }
  }
}

bool is_in(const void* data, uint32_t begin) {
  const auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(data));
  return address >= begin && address - begin < 0x1000000U;
}

}  // namespace

int main() {
  if (model.load() != cormorant::Error::ok) return 1;
  if (!is_in(digits_memory.arenas[0].data, 0x20000000) || !is_in(digits_memory.arenas[1].data, 0x11000000)) return 2;
  if (!is_in(digits_model.data, 0x38000000)) return 3;
  draw(model.input_x());
  model.execute();
  const cormorant::Span<int8_t> scores = model.output();
  size_t best = 0;
  for (size_t i = 1; i < scores.size(); ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  console_print("this is a ");
  console_print_number(static_cast<int32_t>(best));
  console_print("; DTCM ");
  console_print_number(DIGITS_ARENA_DTCM_BYTES);
  console_print(" bytes, SRAM ");
  console_print_number(DIGITS_ARENA_SRAM_BYTES);
  console_print("\n");
  return 0;
}
