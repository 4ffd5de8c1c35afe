// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/op.h"
#include "ops/portable/numbers_kernels.h"

namespace cormorant::ops {

std::vector<const Kernel*> host_kernels() {
  std::vector<const Kernel*> kernels;
  for (const Operator& op : all_operators()) {
    for (const ListedKernel& kernel : op.kernels) kernels.push_back(with_numbers(kernel.host));
  }
  return kernels;
}

std::vector<Kernel> kernels_loading_on(const Target& target, std::span<const std::string> of_numbers) {
  std::vector<Kernel> kernels;
  for (const Operator& op : all_operators()) {
    const std::vector<Kernel> others = op.loads_on == nullptr ? std::vector<Kernel>() : op.loads_on(target);
    kernels.insert(kernels.end(), others.begin(), others.end());
    for (const ListedKernel& kernel : op.kernels) {
      const auto is_same = [&](const Kernel& other) { return std::string_view(other.name) == kernel.name; };
      if (std::ranges::any_of(others, is_same)) continue;
      const bool takes_all = std::ranges::find(of_numbers, kernel.host->name) != of_numbers.end();
      const Kernel* const of_all = takes_all ? kernel_of_numbers(kernel.host->name) : nullptr;
      kernels.push_back(of_all != nullptr ? *of_all : *kernel.host);
    }
  }
  return kernels;
}

}  // namespace cormorant::ops
