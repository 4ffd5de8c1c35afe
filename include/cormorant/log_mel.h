/* SPDX-License-Identifier: Apache-2.0
 *
 * Log-mel features of audio in fixed point: Hann window, FFT, mel filters, logarithm. Needs no heap, no FPU and no
 * 64-bit multiplication, gives the same bits on every CPU, and equals its Python twin (python/cormorant/log_mel.py), so
 * that a network is trained on what firmware computes. It does not need the rest of Cormorant.
 *
 * A feature is 256 * log2(energy), where energy is the sum over a mel filter of |DFT|^2 of the windowed samples; below
 * 1, which is less than the rounding of 16-bit samples, it is 0. One bit of amplitude is 512, one decibel 85. Frames
 * are scaled by their loudest sample first, so that quiet ones are as exact as loud ones.
 */
#ifndef CORMORANT_LOG_MEL_H
#define CORMORANT_LOG_MEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes and tables. cormorant_add_log_mel() in CMake and `log_mel.py` generate one, with constants of its sizes. */
typedef struct cormorant_log_mel {
  uint16_t window; /* samples in a frame: even, at most fft */
  uint16_t hop;    /* samples from one frame to the next: at most window */
  uint16_t fft;    /* a power of two */
  uint16_t mels;
  const int16_t* rise; /* [window / 2]: the window's first half; the second mirrors it. 2^15 is one, as in twiddles */
  const int16_t* twiddles; /* [fft]: cosine and sine of 2 pi k / fft in turn */
  const uint16_t* edges;   /* [mels + 2]: the first bin at or above each mel point */
  const uint8_t* weights;  /* of each bin from edges[0] on, how near it is to the next mel point, of 256 */
} cormorant_log_mel;

typedef union cormorant_log_mel_cell {
  int16_t part[2]; /* real, imaginary */
  uint32_t power;
} cormorant_log_mel_cell;

/* One frame: settings->window samples to settings->mels features. The scratch has settings->fft / 2 cells. */
void cormorant_log_mel_frame(const cormorant_log_mel* settings, const int16_t* samples, cormorant_log_mel_cell* scratch,
                             int16_t* features);

/* Samples as they arrive, in pieces of any size. */
typedef struct cormorant_log_mel_stream {
  const cormorant_log_mel* settings;
  int16_t* samples;                /* [settings->window] */
  cormorant_log_mel_cell* scratch; /* [settings->fft / 2] */
  uint16_t held;                   /* samples so far; starts with 0 */
} cormorant_log_mel_stream;

/* Takes samples until a frame is complete: then writes its features and returns 1, with *samples and *count moved on to
 * what is left. Returns 0 when all are taken. So: while (cormorant_log_mel_push(&stream, &samples, &count, f)) use(f);
 */
int cormorant_log_mel_push(cormorant_log_mel_stream* stream, const int16_t** samples, size_t* count, int16_t* features);

/* A network that is trained on features / 256 takes them as int8 like this. The factor is a constant expression of the
 * input's scale, which is at least 1 / 256; ties are rounded up. */
#define CORMORANT_LOG_MEL_FACTOR(scale) ((int32_t)(256.0f / (scale) + 0.5f))
void cormorant_log_mel_quantize(const int16_t* features, size_t count, int32_t factor, int32_t zero_point,
                                int8_t* stored);

#ifdef __cplusplus
}
#endif

#endif
