// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "ops/activation/activation.h"
#include "ops/conv2d/conv2d.h"
#include "ops/host/move_reference.h"
#include "ops/host/references.h"
#include "ops/portable/kernel.h"
#include "ops/portable/numbers_kernels.h"
#include "runtime/call_types.h"

namespace cormorant::ops {

CORMORANT_REFERENCES(portable_with_overload, CORMORANT_PORTABLE_KERNELS)

extern "C" {
extern const Kernel aten_copy__scalar;
extern const Kernel aten_index_put__scalar;
void cormorant_list_portable(std::vector<ListedKernel>& list);
void cormorant_list_portable(std::vector<ListedKernel>& list) {
  cormorant_list_portable_with_overload(list);
  for (const Kernel* kernel : {&aten_copy__scalar, &aten_index_put__scalar}) {
    list.push_back({kernel->name, std::nullopt, precisions::numbers(), isas_of(0), kernel});
  }
}
#define CORMORANT_DECLARE_NUMBERS(library, op, overload, ...) \
  extern const Kernel library##_##op##_##overload##_numbers_scalar;
CORMORANT_ACTIVATION_NUMBERS(CORMORANT_DECLARE_NUMBERS)
CORMORANT_CONV2D_NUMBERS(CORMORANT_DECLARE_NUMBERS)
CORMORANT_PORTABLE_NUMBERS(CORMORANT_DECLARE_NUMBERS)
}

namespace {

#define CORMORANT_NAME_NUMBERS(library, op, overload, ...) &library##_##op##_##overload##_numbers_scalar,
const std::array kNumbers = {CORMORANT_ACTIVATION_NUMBERS(CORMORANT_NAME_NUMBERS) CORMORANT_CONV2D_NUMBERS(
    CORMORANT_NAME_NUMBERS) CORMORANT_PORTABLE_NUMBERS(CORMORANT_NAME_NUMBERS)};
std::array<std::atomic<const Kernel*>, kNumbers.size()> of_floats{};  // of the same name, set once

struct Choice {
  static constexpr std::uint32_t kStateBytes = 0;  // firmware has no such choice
  void (*execute)(const void*);
  const void* plan;
};

Error load_choice(Call& call, const Kernel& chosen) {
  const Error error = chosen.load(call);
  if (error != Error::ok || call.error() != Error::ok) return error;
  const Choice choice{chosen.execute, call.plan()};
  if (auto* const plan = call.make_plan<Choice>()) *plan = choice;
  return call.error();
}

template <std::size_t kIndex>
Error load(Call& call) {
  const Kernel& numbers = *kNumbers[kIndex];
  return load_choice(call, is_of_numbers(numbers.name, call.types()) ? numbers : *of_floats[kIndex]);
}

void execute_choice(const void* plan) {
  const auto& choice = *static_cast<const Choice*>(plan);
  choice.execute(choice.plan);
}

template <std::size_t... kIndices>
std::array<Kernel, kNumbers.size()> make_kernels(std::index_sequence<kIndices...> /*all*/) {
  return {Kernel{kNumbers[kIndices]->name, load<kIndices>, execute_choice}...};
}

}  // namespace

const Kernel* kernel_of_numbers(std::string_view name) {
  const auto found = std::ranges::find(kNumbers, name, &Kernel::name);
  return found == kNumbers.end() ? nullptr : *found;
}

const Kernel* with_numbers(const Kernel* of_float) {
  static const auto kernels = make_kernels(std::make_index_sequence<kNumbers.size()>());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (std::string_view(kernels[i].name) != of_float->name) continue;
    of_floats[i] = of_float;
    return &kernels[i];
  }
  return of_float;
}

}  // namespace cormorant::ops
