/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples of audio, as an interrupt or DMA brings them, to the name of what was heard. No float, no heap.
 */
#include "console.h"
#include "features.h"
#include "network.h"
#include "recording.h"

#define PIECE 160        /* samples at a time: 10 ms */
#define FRAMES 2         /* that the network takes at a time */
#define FRAMES_BEFORE 40 /* it looks back on as many: before that its window is not full */
#define SURE 3           /* times in a row that it must say the same */

static cormorant_program program;
static int16_t samples[FEATURES_WINDOW];
static cormorant_log_mel_cell scratch[FEATURES_FFT / 2];
static cormorant_log_mel_stream stream = {&features, samples, scratch, 0};

/* The input is [1, mels, frames], frames next to each other. */
static void put_frame(const int16_t* frame, int which) {
  int8_t stored[FEATURES_MELS];
  int mel;
  cormorant_log_mel_quantize(frame, FEATURES_MELS, CORMORANT_LOG_MEL_FACTOR(NETWORK_INPUT_X_SCALE),
                             NETWORK_INPUT_X_ZERO_POINT, stored);
  for (mel = 0; mel < FEATURES_MELS; ++mel) network_input_x(&program)[mel * FRAMES + which] = stored[mel];
}

static int best_score(void) {
  const int8_t* const scores = network_output(&program);
  int i, best = 0;
  for (i = 1; i < (int)NETWORK_OUTPUT_ELEMENTS; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}

static void say(int32_t frames, const char* name) {
  console_print_number(frames * FEATURES_HOP / (FEATURES_RATE / 10));
  console_print("00 ms: ");
  console_print(name);
  console_print("\n");
}

int main(void) {
  static const char* const names[] = {"nothing", "rising", "falling", "doorbell", "alarm"};
  cormorant_failure why;
  int16_t frame[FEATURES_MELS];
  int32_t frames = 0;
  int heard = 0, candidate = 0, times = 0;
  size_t at;
  if (network_load(&program, &why) != CORMORANT_OK) {
    console_print(cormorant_describe(why.error));
    return 1;
  }
  for (at = 0; at < RECORDING_SAMPLES; at += PIECE) {
    const int16_t* piece = recording + at;
    size_t count = PIECE;
    while (cormorant_log_mel_push(&stream, &piece, &count, frame)) {
      int best;
      put_frame(frame, frames % FRAMES);
      if (++frames % FRAMES != 0) continue;
      network_run(&program);
      if (frames < FRAMES_BEFORE) continue;
      best = best_score();
      times = best == candidate ? times + 1 : 1;
      candidate = best;
      if (times == SURE && candidate != heard) {
        heard = candidate;
        if (heard != 0) say(frames, names[heard]);
      }
    }
  }
  return 0;
}
