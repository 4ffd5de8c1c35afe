// SPDX-License-Identifier: Apache-2.0
//
// Programs of ExecuTorch's compiler, truncated and with random bytes changed. Such a file may compute anything, as long
// as it stays inside its memory, which the sanitizers check. load_fuzz.cc searches longer.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "formats/pte/reader.h"
#include "runtime/host.h"
#include "runtime/toy_kernels.h"

namespace cormorant {
namespace {

class Damaged : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::ifstream in(std::string(CORMORANT_SOURCE_DIR "/tests/executorch/") + GetParam() + ".pte", std::ios::binary);
    ASSERT_TRUE(in);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    file_ = AlignedBytes(std::as_bytes(std::span(text)));
    const auto program = pte::ProgramView::open(file_.span());
    ASSERT_TRUE(program.ok());
    flatbuffer_ = program.value().flatbuffer_bytes();
    const auto sizes = program.value().method("forward").value().memory_sizes();
    ASSERT_EQ(sizes.size(), 2U);
    arena_ = AlignedBytes(static_cast<std::size_t>(sizes[1]));
    for (const Kernel& kernel : toy::kExecutorch) table_.push_back(&kernel);
  }

  bool exercise(std::span<const std::byte> file) {
    const Region arenas[] = {region_of(arena_.span())};
    return toy::exercise(file, table_, state_.span(), arenas);
  }

  AlignedBytes file_, arena_, state_{16384};
  std::size_t flatbuffer_ = 0;
  std::vector<const Kernel*> table_;
};

TEST_P(Damaged, whole_file_runs) { EXPECT_TRUE(exercise(file_.span())); }

TEST_P(Damaged, cut_file_is_refused) {
  const std::size_t size = file_.span().size();
  for (std::size_t kept = 0; kept < size; kept += kept < 256 ? 1 : 997) {
    const AlignedBytes cut(file_.span().first(kept));
    EXPECT_FALSE(exercise(cut.span())) << kept;
  }
}

// Values that make sums and products overflow, indices just outside, offsets that point backwards.
TEST_P(Damaged, changed_file_stays_inside_its_memory) {
  std::mt19937 random(20261115);
  constexpr std::uint32_t kNasty[] = {0,    1,      2,      3,          4,          7,          0x7f,      0x80,
                                      0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
  int survivors = 0;
  for (int round = 0; round < 700; ++round) {
    const std::size_t changes = 1 + random() % 3;
    std::vector<std::pair<std::size_t, std::byte>> undo;
    for (std::size_t c = 0; c < changes; ++c) {
      const std::size_t width = std::size_t{1} << random() % 3;
      const std::size_t at = random() % (flatbuffer_ - width) / width * width;
      const std::uint32_t value =
          random() % 2 == 0 ? kNasty[random() % std::size(kNasty)] : static_cast<std::uint32_t>(random());
      for (std::size_t i = 0; i < width; ++i) {
        undo.emplace_back(at + i, file_.span()[at + i]);
        file_.span()[at + i] = static_cast<std::byte>(value >> (8 * i));
      }
    }
    survivors += exercise(file_.span()) ? 1 : 0;
    for (auto it = undo.rbegin(); it != undo.rend(); ++it) file_.span()[it->first] = it->second;
  }
  EXPECT_GT(survivors, 70);  // else the changes hit so hard that nothing after the first check was reached
  EXPECT_TRUE(exercise(file_.span()));
}

INSTANTIATE_TEST_SUITE_P(Executorch, Damaged, testing::Values("ds_cnn", "resnet8", "deep_autoencoder"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace cormorant
