// SPDX-License-Identifier: Apache-2.0
#include "ops/depthwise_conv2d/words_kernel.h"

namespace cormorant::ops::depthwise::words {
namespace {

template <Layout L>
std::uint64_t stream_bytes_of(const conv::Geometry& g) {
  return Stream(L, g).bytes();
}
template <Layout L>
std::uint32_t scratch_bytes_of(const conv::Geometry& g) {
  return scratch_bytes(L, g).value();
}

template <Layout L>
Error load(Call& call) {
  const Plan* plan = conv2d::words::load_packed(call, is_computable, stream_bytes_of<L>, scratch_bytes_of<L>);
  if (plan == nullptr) return call.error();
  if constexpr (L == Layout::v6m) {
    const Stream stream(L, plan->header->geometry);
    for (std::uint32_t c = 0; c < stream.channels; ++c) {
      const auto* stored = reinterpret_cast<const std::int32_t*>(plan->stream() + stream.factor_index(c));
      const Factor factor = stream.factor_of(*stored);
      call.require(factor.shift >= 16 && factor.shift <= 32, Error::bad_constant);
    }
  }
  return call.error();
}

}  // namespace

Error load_mve(Call& call) { return load<Layout::mve>(call); }
Error load_dsp(Call& call) { return load<Layout::dsp>(call); }
Error load_scalar(Call& call) { return load<Layout::scalar>(call); }
Error load_v6m(Call& call) { return load<Layout::v6m>(call); }

}  // namespace cormorant::ops::depthwise::words
