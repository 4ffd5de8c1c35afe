/* SPDX-License-Identifier: Apache-2.0
 *
 * Real numbers to stored integers and back, as the program's own operators compute it. The header that is generated for
 * a model has both for each of its inputs and outputs.
 */
#ifndef CORMORANT_QUANTIZE_H
#define CORMORANT_QUANTIZE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The integer in [low, high] nearest to value / scale + zero_point; ties go to the even neighbour, NaN to zero_point.
 * The scale is given as its inverse, because the operators multiply. */
static inline int32_t cormorant_quantize(float value, float inverse_scale, int32_t zero_point, int32_t low,
                                         int32_t high) {
  const float steps = value * inverse_scale;
  int32_t nearest;
  float rest;
  if (steps >= 8388608.0f) return high; /* 2^23: all beyond are integers, and no type has as many steps */
  if (steps <= -8388608.0f) return low;
  if (steps != steps) return zero_point;
  nearest = (int32_t)steps;
  rest = steps - (float)nearest;
  if (rest > 0.5f || (rest == 0.5f && (nearest & 1) != 0)) ++nearest;
  if (rest < -0.5f || (rest == -0.5f && (nearest & 1) != 0)) --nearest;
  nearest += zero_point;
  return nearest < low ? low : nearest > high ? high : nearest;
}

static inline float cormorant_dequantize(int32_t stored, float scale, int32_t zero_point) {
  return (float)(stored - zero_point) * scale;
}

#ifdef __cplusplus
}
#endif

#endif
