// SPDX-License-Identifier: Apache-2.0
//
// A model that is replaced while the firmware runs. What is received is loaded, which verifies it, before the program
// in use is released; a file that is truncated, damaged or from another sender is refused and nothing changes. The
// firmware assumes nothing about types: it asks the program that it has.
#include "builtin.h"
#include "checks.h"
#include "console.h"
#include "cormorant/quantize.h"
#include "update.h"

namespace {

alignas(16) unsigned char received[UPDATE_MODEL_BYTES];

// What comes along with a model. A device's key belongs into memory that only its boot code reads.
struct Seal {
  uint32_t crc;
  uint64_t tag;
};
Seal received_seal;
constexpr checks::Key kKey = {0x8f1bbcdc5be0cd19, 0x243f6a8885a308d3};

Seal seal_of(const void* data, size_t bytes) {
  const auto* const begin = static_cast<const unsigned char*>(data);
  return {checks::crc32(begin, bytes), checks::SipHash(kKey).of(begin, bytes)};
}

// Both programs share the arena; each has its state, so that the old one stays usable while the new one is tried.
alignas(8) unsigned char states[2][BUILTIN_STATE_BYTES > UPDATE_STATE_BYTES ? BUILTIN_STATE_BYTES : UPDATE_STATE_BYTES];
cormorant::Program programs[2];
int in_use = 0;

cormorant::Error load(int slot, const cormorant::Model& model, cormorant::Failure* why) {
  const cormorant::Memory memory = {
      {states[slot], sizeof states[slot]}, update_memory.arenas, update_memory.arena_count};
  return programs[slot].load(model, memory, why);
}

// As if from a radio: the last bytes may be missing, or one (at `changed`) may have been altered on the way.
cormorant::Model receive(size_t bytes, size_t changed = SIZE_MAX) {
  const auto* const sent = static_cast<const unsigned char*>(update_model.data);
  for (size_t i = 0; i < bytes; ++i) received[i] = sent[i];
  if (changed < bytes) received[changed] ^= 1;
  received_seal = seal_of(sent, UPDATE_MODEL_BYTES);  // computed by the sender, who has the key
  cormorant::Model model = update_model;              // its method and kernels
  model.data = received;
  model.bytes = bytes;
  return model;
}

bool replace_by(const cormorant::Model& model) {
  cormorant::Failure why;
  const int other = 1 - in_use;
  if (load(other, model, &why) != cormorant::Error::ok) {
    console_print("refused: ");
    console_print(describe(why.error));
    console_print("\n");
    return false;
  }
  in_use = other;
  return true;
}

void write(const cormorant::Program& program, float value) {
  const cormorant::IoTensor input = program.input(0);
  if (input.type() == cormorant::DType::f32) {
    input.as<float>()[0] = value;
  } else {
    const cormorant::Quantization q = program.input_quantization(0);
    input.as<int8_t>()[0] = static_cast<int8_t>(cormorant_quantize(value, 1 / q.scale, q.zero_point, -128, 127));
  }
}

float read(const cormorant::Program& program) {
  const cormorant::IoTensor output = program.output(0);
  if (output.type() == cormorant::DType::f32) return output.as<float>()[0];
  const cormorant::Quantization q = program.output_quantization(0);
  return cormorant_dequantize(output.as<int8_t>()[0], q.scale, q.zero_point);
}

void show(const char* which) {
  const cormorant::Program& program = programs[in_use];
  write(program, 1.5708F);
  program.execute();
  console_print(which);
  console_print(": ");
  console_print(program.output_name(0));
  console_print(" of a right angle is ");
  console_print_number(static_cast<int32_t>(100 * read(program) + 0.5F));
  console_print(" %\n");
}

}  // namespace

// Linked models came with the firmware and are trusted like it.
extern "C" int cormorant_accept(const void* data, size_t bytes) {
  if (data == builtin_model.data) return 1;
  const Seal seal = seal_of(data, bytes);
  return seal.crc == received_seal.crc && seal.tag == received_seal.tag;
}

int main() {
  if (!checks::are_sound()) return 4;
  if (load(in_use, builtin_model, nullptr) != cormorant::Error::ok) return 1;
  show("built in");
  if (replace_by(receive(UPDATE_MODEL_BYTES / 2))) return 2;
  if (replace_by(receive(UPDATE_MODEL_BYTES, UPDATE_MODEL_BYTES - 1))) return 2;
  show("still built in");
  if (!replace_by(receive(UPDATE_MODEL_BYTES))) return 3;
  show("replaced");
  return 0;
}
