// SPDX-License-Identifier: Apache-2.0
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

}  // namespace cormorant::ops
