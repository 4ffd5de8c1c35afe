// SPDX-License-Identifier: Apache-2.0
//
// Four channels share the walk over the taps, two where registers are few.
#include "kernels/window.h"

namespace cormorant {
namespace {

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2
constexpr std::uint32_t kChannels = 2;
#else
constexpr std::uint32_t kChannels = 4;
#endif

template <std::uint32_t kCount>
inline void max_of(const Window& w, std::uint32_t channel, std::int32_t low, std::int32_t high) {
  std::int32_t largest[kCount];
  for (std::int32_t& value : largest) value = low;
  const std::int8_t* row = w.input + channel;
  for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
    const std::int8_t* tap = row;
    for (std::uint32_t x = w.columns; x != 0; --x, tap += w.column_step) {
      for (std::uint32_t c = 0; c < kCount; ++c) largest[c] = tap[c] > largest[c] ? tap[c] : largest[c];
    }
  }
  for (std::uint32_t c = 0; c < kCount; ++c) {
    w.output[channel + c] = static_cast<std::int8_t>(largest[c] > high ? high : largest[c]);
  }
}

}  // namespace

void window_max_scalar(const Window& window, std::int32_t low, std::int32_t high) {
  Window w = window;
  join_rows(w);
  std::uint32_t channel = 0;
  for (; channel + kChannels <= w.channels; channel += kChannels) max_of<kChannels>(w, channel, low, high);
  for (; channel < w.channels; ++channel) max_of<1>(w, channel, low, high);
}

}  // namespace cormorant
