// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm/reference.h"

#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {
namespace {

void execute(const void* plan) {
  normalise_rows<doubling_high_multiply, plain_statistics>(*static_cast<const Plan*>(plan));
}

const Kernel kScalarReference = {kScalar, load, execute};
const Kernel kDspReference = {kDsp, load, execute};
const Kernel kMveReference = {kMve, load, execute};
const Kernel* const kReferences[] = {&kScalarReference, &kDspReference, &kMveReference};

}  // namespace

std::span<const Kernel* const> references() { return kReferences; }

}  // namespace cormorant::ops::layer_norm
