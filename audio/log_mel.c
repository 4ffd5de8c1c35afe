/* SPDX-License-Identifier: Apache-2.0
 *
 * Every value has a bound, so that nothing overflows 32 bits and no product needs more. A frame is scaled to at most
 * 2^14. Two real samples are one complex number, whose magnitude is thus at most 2^14.5 = 23,170, and each stage of the
 * FFT halves its sums: magnitudes never grow. The spectrum of the real samples is at most twice that, 46,340, whose
 * square is 2^31. Right shifts of negative numbers are arithmetic, as in every compiler for these CPUs.
 */
#include "cormorant/log_mel.h"

#define SAMPLE_BITS 14 /* of a scaled sample */
#define TABLE_BITS 15  /* of window and twiddles */
#define WEIGHT_BITS 8  /* of filters */
#define FEATURE_BITS 8 /* fractional bits of a logarithm */

/* 2^15 * log2(1 + i / 32) */
static const uint16_t LOG2[33] = {0,     1455,  2866,  4236,  5568,  6863,  8124,  9352,  10549, 11716, 12855,
                                  13968, 15055, 16117, 17156, 18173, 19168, 20143, 21098, 22034, 22952, 23852,
                                  24736, 25604, 26455, 27292, 28114, 28922, 29717, 30498, 31267, 32024, 32768};

/* How far to the right the products of sample and window are shifted: 1 for a loud frame, 16 for a very quiet one. */
static int window_shift(const int16_t* samples, uint32_t count) {
  uint32_t bits = 0, i;
  int length = 0;
  for (i = 0; i < count; ++i) bits |= (uint32_t)(samples[i] ^ (samples[i] >> 15)); /* ~x, if x is negative */
  for (; bits != 0; bits >>= 1) ++length;
  return TABLE_BITS + length - SAMPLE_BITS;
}

static int16_t windowed(int16_t sample, int16_t weight, int shift) {
  return (int16_t)((sample * weight + (1 << (shift - 1))) >> shift);
}

/* Pairs of samples as complex numbers. */
static void load(const cormorant_log_mel* settings, const int16_t* samples, int shift, cormorant_log_mel_cell* cells) {
  const uint32_t last = settings->window - 1u, middle = settings->window / 2u;
  uint32_t i;
  for (i = 0; i < middle; ++i) { /* from both ends, which have the same weights */
    const int16_t weight = settings->rise[i];
    cells[i / 2].part[i % 2] = windowed(samples[i], weight, shift);
    cells[(last - i) / 2].part[(last - i) % 2] = windowed(samples[last - i], weight, shift);
  }
  for (i = middle; i < settings->fft / 2u; ++i) cells[i].power = 0;
}

/* The order of reversed bits, which the stages begin with. */
static void reorder(cormorant_log_mel_cell* cells, uint32_t count) {
  uint32_t i, place = 0;
  for (i = 0; i < count; ++i) {
    uint32_t bit = count;
    if (place > i) {
      const cormorant_log_mel_cell swapped = cells[i];
      cells[i] = cells[place];
      cells[place] = swapped;
    }
    do { /* counts up from the highest bit */
      bit >>= 1;
      place ^= bit;
    } while (bit != 0 && (place & bit) == 0);
  }
}

/* The first two stages at once: their twiddles are 1 and -i. */
static void first_stages(cormorant_log_mel_cell* cells, uint32_t count) {
  cormorant_log_mel_cell* const end = cells + count;
  for (; cells != end; cells += 4) {
    const int32_t ar = cells[0].part[0], ai = cells[0].part[1], br = cells[1].part[0], bi = cells[1].part[1];
    const int32_t cr = cells[2].part[0], ci = cells[2].part[1], dr = cells[3].part[0], di = cells[3].part[1];
    cells[0].part[0] = (int16_t)((ar + br + cr + dr + 2) >> 2);
    cells[0].part[1] = (int16_t)((ai + bi + ci + di + 2) >> 2);
    cells[1].part[0] = (int16_t)((ar - br + ci - di + 2) >> 2);
    cells[1].part[1] = (int16_t)((ai - bi - cr + dr + 2) >> 2);
    cells[2].part[0] = (int16_t)((ar + br - cr - dr + 2) >> 2);
    cells[2].part[1] = (int16_t)((ai + bi - ci - di + 2) >> 2);
    cells[3].part[0] = (int16_t)((ar - br - ci + di + 2) >> 2);
    cells[3].part[1] = (int16_t)((ai - bi + cr - dr + 2) >> 2);
  }
}

/* a with 15 fractional bits, as b has them, and what rounds (a + b) / 2. */
static int32_t to_halve(int32_t a) { return a * (1 << TABLE_BITS) + (1 << TABLE_BITS); }
static int16_t halved(int32_t sum) { return (int16_t)(sum >> (TABLE_BITS + 1)); }

static void later_stages(cormorant_log_mel_cell* cells, uint32_t count, const int16_t* twiddles) {
  uint32_t span, step = count / 2; /* of the table: it is for twice as many points */
  for (span = 4; span < count; span *= 2, step /= 2) {
    uint32_t k;
    for (k = 0; k < span; ++k) {
      const int32_t cosine = twiddles[k * step], sine = twiddles[k * step + 1];
      cormorant_log_mel_cell *a = cells + k, *const end = cells + count;
      for (; a < end; a += 2 * span) {
        cormorant_log_mel_cell* const b = a + span;
        const int32_t ar = to_halve(a->part[0]), ai = to_halve(a->part[1]);
        const int32_t br = b->part[0] * cosine + b->part[1] * sine, bi = b->part[1] * cosine - b->part[0] * sine;
        a->part[0] = halved(ar + br);
        a->part[1] = halved(ai + bi);
        b->part[0] = halved(ar - br);
        b->part[1] = halved(ai - bi);
      }
    }
  }
}

static uint32_t square(int32_t x) { return (uint32_t)x * (uint32_t)x; }

/* The spectrum of pairs becomes the power spectrum of the samples, below half of their rate, in its place: bins k and
 * count - k are made of the same two numbers. */
static void powers(cormorant_log_mel_cell* cells, uint32_t count, const int16_t* twiddles) {
  uint32_t k;
  cells[0].power = square(cells[0].part[0] + cells[0].part[1]);
  cells[count / 2].power = square(cells[count / 2].part[0]) + square(cells[count / 2].part[1]);
  for (k = 1; k < count / 2; ++k) {
    cormorant_log_mel_cell *const low = cells + k, *const high = cells + count - k;
    const int32_t cosine = twiddles[2 * k], sine = twiddles[2 * k + 1], round = 1 << (TABLE_BITS - 1);
    const int32_t even_r = low->part[0] + high->part[0], even_i = low->part[1] - high->part[1];
    const int32_t odd_r = low->part[1] + high->part[1], odd_i = high->part[0] - low->part[0];
    const int32_t turned_r = (odd_r * cosine + odd_i * sine + round) >> TABLE_BITS;
    const int32_t turned_i = (odd_i * cosine - odd_r * sine + round) >> TABLE_BITS;
    low->power = square((even_r + turned_r + 1) >> 1) + square((even_i + turned_i + 1) >> 1);
    high->power = square((even_r - turned_r + 1) >> 1) + square((even_i - turned_i + 1) >> 1);
  }
}

/* With FEATURE_BITS fractional bits; 0 for 0. */
static int32_t log2_of(uint64_t value) {
  uint32_t high = (uint32_t)(value >> 32), low = (uint32_t)value, step, index, rest, fraction;
  int32_t exponent = 63;
  if (value == 0) return 0;
  if (high == 0) {
    high = low;
    low = 0;
    exponent = 31;
  }
  for (step = 16; step != 0; step /= 2) {
    if (high >> (32 - step) == 0) {
      high = high << step | low >> (32 - step);
      low <<= step;
      exponent -= (int32_t)step;
    }
  }
  index = high >> 26 & 31;
  rest = high >> 15 & 2047;
  fraction = LOG2[index] + (((uint32_t)(LOG2[index + 1] - LOG2[index]) * rest + 1024) >> 11);
  return exponent * (1 << FEATURE_BITS) + (int32_t)((fraction + 64) >> 7);
}

/* Between two mel points a bin belongs to two filters: by its weight to the one that rises, by the rest to the one that
 * falls. Powers are multiplied by halves, which every CPU can. */
static void filters(const cormorant_log_mel* settings, const cormorant_log_mel_cell* cells, int32_t exponent,
                    int16_t* features) {
  const uint8_t* weights = settings->weights;
  uint64_t rising = 0;
  uint32_t point, k = settings->edges[0];
  for (point = 0; point <= settings->mels; ++point) {
    uint32_t sum_high = 0, sum_low = 0, weighted_high = 0, weighted_low = 0;
    uint64_t sum, weighted;
    for (; k < settings->edges[point + 1]; ++k) {
      const uint32_t high = cells[k].power >> 16, low = cells[k].power & 0xFFFF, weight = *weights++;
      sum_high += high;
      sum_low += low;
      weighted_high += high * weight;
      weighted_low += low * weight;
    }
    sum = ((uint64_t)sum_high << 16) + sum_low;
    weighted = ((uint64_t)weighted_high << 16) + weighted_low;
    if (point != 0) {
      const uint64_t energy = rising + (sum << WEIGHT_BITS) - weighted;
      const int32_t feature = log2_of(energy) + exponent;
      *features++ = (int16_t)(energy == 0 || feature < 0 ? 0 : feature);
    }
    rising = weighted;
  }
}

void cormorant_log_mel_frame(const cormorant_log_mel* settings, const int16_t* samples, cormorant_log_mel_cell* scratch,
                             int16_t* features) {
  const uint32_t count = settings->fft / 2u;
  const int shift = window_shift(samples, settings->window);
  int32_t exponent = shift - TABLE_BITS; /* what a value of the spectrum has to be shifted back by */
  uint32_t stages;
  for (stages = count; stages > 1; stages /= 2) ++exponent;
  load(settings, samples, shift, scratch);
  reorder(scratch, count);
  first_stages(scratch, count);
  later_stages(scratch, count, settings->twiddles);
  powers(scratch, count, settings->twiddles);
  filters(settings, scratch, (2 * exponent - WEIGHT_BITS) * (1 << FEATURE_BITS), features);
}

int cormorant_log_mel_push(cormorant_log_mel_stream* stream, const int16_t** samples, size_t* count,
                           int16_t* features) {
  const cormorant_log_mel* const settings = stream->settings;
  uint16_t i;
  for (; *count != 0 && stream->held < settings->window; --*count) stream->samples[stream->held++] = *(*samples)++;
  if (stream->held < settings->window) return 0;
  cormorant_log_mel_frame(settings, stream->samples, stream->scratch, features);
  stream->held = (uint16_t)(settings->window - settings->hop);
  for (i = 0; i < stream->held; ++i) stream->samples[i] = stream->samples[i + settings->hop];
  return 1;
}

void cormorant_log_mel_quantize(const int16_t* features, size_t count, int32_t factor, int32_t zero_point,
                                int8_t* stored) {
  size_t i;
  for (i = 0; i < count; ++i) {
    const int32_t value = ((features[i] * factor + (1 << 15)) >> 16) + zero_point;
    stored[i] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
  }
}
