// SPDX-License-Identifier: Apache-2.0
//
// Files crafted to break out of their memory (tests/hostile_programs) are refused, with the error that names the
// reason.
#include <gtest/gtest.h>
#include <zlib.h>

#include <ostream>
#include <span>
#include <vector>

#include "formats/pte/reader.h"
#include "ops/op.h"
#include "runtime/host.h"

namespace cormorant::tests {
namespace {

struct Hostile {
  const char* name;
  Error error;
  std::size_t arenas = 1;  // that the caller gives
};

void PrintTo(const Hostile& file, std::ostream* out) { *out << file.name; }

// gzread() takes plain files as well.
std::vector<std::byte> read_all(const char* name) {
  const std::string path = std::string(CORMORANT_SOURCE_DIR "/tests/hostile_programs/") + name;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return {};
  std::vector<std::byte> bytes;
  for (std::byte part[4096];;) {
    const int count = gzread(file, part, sizeof part);
    if (count <= 0) break;
    bytes.insert(bytes.end(), part, part + count);
  }
  gzclose(file);
  return bytes;
}

class HostileFile : public testing::TestWithParam<Hostile> {};

TEST_P(HostileFile, IsRefused) {
  const std::vector<std::byte> bytes = read_all(GetParam().name);
  ASSERT_FALSE(bytes.empty());
  const AlignedBytes file(bytes);
  const auto program = pte::ProgramView::open(file.span());
  ASSERT_TRUE(program.ok());
  const auto method = program.value().method(0);
  ASSERT_TRUE(method.ok());
  // Exactly what it asks for: sanitizers see the first byte beyond.
  std::vector<AlignedBytes> memory;
  std::vector<Region> arenas;
  for (std::size_t i = 1; i <= GetParam().arenas; ++i) {
    memory.emplace_back(static_cast<std::size_t>(method.value().memory_sizes()[i]));
    arenas.push_back(region_of(memory.back().span()));
  }
  const AlignedBytes state(std::size_t{1} << 16);
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  Failure why;
  const auto loaded = load_program(file.span(), "forward", kernels, state.span(), arenas, why);
  EXPECT_EQ(loaded.error(), GetParam().error) << describe(loaded.error());
}

const Hostile kFiles[] = {
    {"dw_mve.pte", Error::bad_memory},           {"dw_dsp.pte", Error::bad_memory},
    {"dw_scalar.pte", Error::bad_memory},        {"conv_scratch_wrap.pte.gz", Error::scratch_too_small},
    {"load_shifts_55.pte", Error::bad_shape},    {"load_shifts_4.pte", Error::bad_shape},
    {"load_shifts_0.pte", Error::bad_shape},     {"arena_id_beyond.pte", Error::arena_too_small},
    {"linear_shift_1.pte", Error::bad_constant}, {"linear_shift_4.pte", Error::bad_constant},
};
INSTANTIATE_TEST_SUITE_P(All, HostileFile, testing::ValuesIn(kFiles));

}  // namespace
}  // namespace cormorant::tests
