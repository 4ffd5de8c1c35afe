// SPDX-License-Identifier: Apache-2.0
//
// Channels that use all of a tensor's levels. A tensor has one scale, which its largest channel sets; one with a
// quarter of that range has two bits less. Where a channel's size is free (layers with nothing but ReLU, PReLU,
// pooling, sums and moved data in between, residual connections included), small channels are made larger: the layers
// that make them have their weights divided by a factor, those that read them multiplied by it. In float the network
// stays the same but for the last bit, on the target it costs nothing.
#pragma once

#include "ir/graph.h"
#include "quantizer/options.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// By what the samples show of every channel. Of smaller steps of activations the weights pay with larger ones relative
// to what they multiply; how far to go is what an estimate of both noises says.
void balance(ir::Graph& graph, const Samples& samples, const QuantizeOptions& options);

}  // namespace cormorant::quantizer
