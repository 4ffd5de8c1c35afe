// SPDX-License-Identifier: Apache-2.0
//
// Lets channels use all of a tensor's levels. A tensor has one scale, which its largest channel sets; a channel with a
// quarter of that range loses two bits. Where a channel's size is free (layers with nothing but ReLU, PReLU, pooling,
// sums and moved data in between, residual connections included), small channels are made larger: the layers that
// compute them have their weights divided by a factor, those that read them multiplied by it. In float the network
// stays the same except for the last bit; on the target it costs nothing.
#pragma once

#include "ir/graph.h"
#include "quantizer/options.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// Factors come from what the samples show of every channel. Smaller steps of activations cost larger steps of the
// weights relative to their operands; an estimate of both noises decides how far to go.
void balance(ir::Graph& graph, const Samples& samples, const QuantizeOptions& options);

}  // namespace cormorant::quantizer
