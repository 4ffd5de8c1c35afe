// SPDX-License-Identifier: Apache-2.0
//
// Loads a test program into memory of exactly the size asked for, so that sanitizers see every byte beyond it.
#pragma once

#include <ostream>
#include <span>
#include <vector>

#include "runtime/host.h"
#include "runtime/test_program.h"
#include "runtime/toy_kernels.h"

namespace cormorant {

inline void PrintTo(Error error, std::ostream* out) {
  *out << static_cast<int>(error) << " (" << describe(error) << ")";
}

namespace test {

// toy::every.out(Tensor, Tensor?, Tensor, int, float, bool, int[], ScalarType, scratch, out)
using Every =
    toy::Signature<Tensor, OptionalTensor, Tensor, toy::Int, float, bool, IntList, DType, ScratchTensor, OutTensor>;
inline Every last_read;                     // what the kernel was given last
inline std::uint32_t required_scratch = 8;  // what the kernel requires
inline std::size_t wanted_share = 0;        // what it would like to share
inline const void* shared = nullptr;        // and what it got

inline Error load_every(Call& call) {
  auto* plan = call.read_plan<Every>();
  if (plan == nullptr) return call.error();
  last_read = *plan;
  call.require_scratch(std::get<scratch>(plan->fields), required_scratch);
  if (wanted_share != 0) shared = call.share(wanted_share);
  return call.error();
}

inline constexpr Kernel kEvery = {"toy::every.out", load_every, toy::execute<Every>};
inline constexpr Kernel kSum = toy::kernel<Tensor, OutTensor>("toy::sum.out");
inline constexpr Kernel kNoOverload = toy::kernel<Tensor, OutTensor>("toy::plain");

// The same, with results that may share memory with their inputs.
struct InPlaceSum : toy::Signature<Tensor, OutTensor> {
  static constexpr Overlap kOverlap = Overlap::in_place;
};
struct CoveringSum : toy::Signature<Tensor, OutTensor> {
  static constexpr Overlap kOverlap = Overlap::covered;
};
struct ScratchSum : toy::Signature<Tensor, ScratchTensor> {
  static constexpr Overlap kOverlap = Overlap::covered;  // for results, which it does not have
};
inline constexpr Kernel kInPlace = {"toy::sum.in_place", toy::load<InPlaceSum>, toy::execute<InPlaceSum>};
inline constexpr Kernel kCovering = {"toy::sum.covered", toy::load<CoveringSum>, toy::execute<CoveringSum>};
inline constexpr Kernel kScratch = {"toy::sum.scratch", toy::load<ScratchSum>, toy::execute<ScratchSum>};
inline constexpr const Kernel* kTable[] = {&kSum, &kNoOverload, &kEvery, &kInPlace, &kCovering, &kScratch};

struct Loaded {
  AlignedBytes pte, state, arena;
  std::vector<Region> arenas;
  Failure why = {};
  Result<Program> program = Error::ok;
};

inline Loaded load(std::span<const std::byte> file, std::size_t arena = 64, std::size_t state = 4096,
                   const char* method = "forward") {
  Loaded loaded{AlignedBytes(file), AlignedBytes(state), AlignedBytes(arena), {}};
  loaded.arenas = {region_of(loaded.arena.span())};
  loaded.program = load_program(loaded.pte.span(), method, kTable, loaded.state.span(), loaded.arenas, loaded.why);
  return loaded;
}

}  // namespace test
}  // namespace cormorant
