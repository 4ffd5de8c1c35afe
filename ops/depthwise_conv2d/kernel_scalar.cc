// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_direct.h"
#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"

namespace cormorant::ops::depthwise {
namespace {

void execute_packed(const void* raw) { for_pixels(raw, conv::depthwise_pixel_scalar, fill_bytes_scalar); }

void execute_direct(const void* raw) { conv::depthwise_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace
}  // namespace cormorant::ops::depthwise

using namespace cormorant::ops::depthwise;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_depthwise_conv2d_scalar, kScalar.name.data(), load_scalar, execute_packed)
CORMORANT_KERNEL(cortex_m_quantized_depthwise_conv2d_out_scalar, "cortex_m::quantized_depthwise_conv2d.out",
                 load_direct, execute_direct)
