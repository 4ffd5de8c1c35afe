// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cormorant::ops {

// For nodes whose arguments contradict each other, as no model that PyTorch has run has them.
inline constexpr const char* kInconsistent = "the model is inconsistent: export it again";

}  // namespace cormorant::ops
