/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the features of all sounds, a frame per line: of the whole frame at once, and of samples that come in pieces.
 */
#include "console.h"
#include "large.h"
#include "small.h"
#include "sounds.h" /* struct sound {front_end, samples, count} sounds[] */

static int16_t samples[LARGE_WINDOW];
static cormorant_log_mel_cell scratch[LARGE_FFT / 2];
static int16_t features[LARGE_MELS];
static int8_t stored[LARGE_MELS];

static void print_features(const char* what, size_t mels) {
  size_t i;
  console_print(what);
  for (i = 0; i < mels; ++i) {
    console_print(" ");
    console_print_number(features[i]);
  }
  cormorant_log_mel_quantize(features, mels, CORMORANT_LOG_MEL_FACTOR(0.18f), -128, stored);
  console_print(" |");
  for (i = 0; i < mels; ++i) {
    console_print(" ");
    console_print_number(stored[i]);
  }
  console_print("\n");
}

int main(void) {
  size_t s;
  for (s = 0; s < sizeof sounds / sizeof sounds[0]; ++s) {
    const struct sound* const sound = &sounds[s];
    const cormorant_log_mel* const settings = sound->front_end;
    cormorant_log_mel_stream stream = {0, 0, 0, 0};
    size_t at, piece = 1;
    stream.settings = settings;
    stream.samples = samples;
    stream.scratch = scratch;
    for (at = 0; at + settings->window <= sound->count; at += settings->hop) {
      cormorant_log_mel_frame(settings, sound->samples + at, scratch, features);
      print_features("frame", settings->mels);
    }
    for (at = 0; at < sound->count; at += piece, piece = piece * 3 % 1009) {
      const int16_t* next = sound->samples + at;
      size_t count = sound->count - at < piece ? sound->count - at : piece;
      while (cormorant_log_mel_push(&stream, &next, &count, features)) print_features("pushed", settings->mels);
    }
  }
  return 0;
}
