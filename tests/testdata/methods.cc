// SPDX-License-Identifier: Apache-2.0
//
// Firmware with all methods of formats/pt2/testdata/methods.pt2 loaded at once, in the memory that they share.
// tests/methods_test.cc adds codec.h and what it declares; the results are printed as the bits of floats.
#include <cstring>

#include "codec.h"
#include "runner/firmware/semihosting.h"

namespace {

using cormorant::semihosting::print;
using cormorant::semihosting::print_hex;
using cormorant::semihosting::print_line;

codec_encode::Model encode;
codec_decode::Model decode;
codec_follow::Model follow;
static_assert(CODEC_ENCODE_BUFFER_BYTES == 0);
char saved[CODEC_FOLLOW_BUFFER_BYTES];

void fill(cormorant::Span<float> input, int sample) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = static_cast<float>(static_cast<int>(i * 7 + 3 * static_cast<std::size_t>(sample)) % 11) * 0.25F - 1.0F;
  }
}

void say(const char* method, cormorant::Span<float> output) {
  print(method);
  for (const float value : output) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    print(" ");
    print_hex(bits);
  }
  print("\n");
}

}  // namespace

static bool run() {
  if (encode.load() != cormorant::Error::ok || follow.load() != cormorant::Error::ok ||
      decode.load() != cormorant::Error::ok) {
    return false;
  }
  if (codec_encode_memory.arenas[0].data != codec_follow_memory.arenas[0].data) return false;
  if (codec_encode_model.data != codec_decode_model.data) return false;
  print_line("ram ", std::uint32_t{CODEC_RAM_BYTES});
  for (int sample = 0; sample < 3; ++sample) {
    fill(follow.input_x(), sample);
    follow.execute();
    say("follow", follow.output());
    fill(encode.input_x(), sample);
    encode.execute();
    float code[CODEC_ENCODE_OUTPUT_ELEMENTS];
    for (std::size_t i = 0; i < CODEC_ENCODE_OUTPUT_ELEMENTS; ++i) code[i] = encode.output()[i];
    for (std::size_t i = 0; i < CODEC_ENCODE_OUTPUT_ELEMENTS; ++i) decode.input_code()[i] = code[i];
    decode.execute();
    say("decode", decode.output());
  }
  // Its buffers fit what the header says, and a stream continues with them.
  if (follow.buffer_bytes() != CODEC_FOLLOW_BUFFER_BYTES) return false;
  follow.save(saved);
  follow.reset();
  fill(follow.input_x(), 0);
  follow.execute();
  say("follow", follow.output());
  follow.restore(saved);
  fill(follow.input_x(), 3);
  follow.execute();
  say("follow", follow.output());
  return true;
}

int main() {
  using namespace cormorant::semihosting;
  exit(run() ? ExitCode::done : ExitCode::load_failed);
}
