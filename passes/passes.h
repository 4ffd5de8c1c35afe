// SPDX-License-Identifier: Apache-2.0
//
// Every graph rewrite, one sentence each. A pass is a free function; compiler/compile.cc puts them in order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace cormorant::passes {

// Expressions of constants are computed now.
void fold_constants(ir::Graph& graph);

// LSTM, GRU and RNN cells that are written as sums, products and functions become recurrent layers.
void fuse_cells(ir::Graph& graph);

// Layers that ExecuTorch has no kernel for (recurrent ones) are expanded into the operators they consist of.
void write_out(ir::Graph& graph);

// What is computed twice is computed once.
void merge_duplicates(ir::Graph& graph);

// A slice of a slice, or of one operand of a concatenation, becomes a slice of the original tensor.
void join_slices(ir::Graph& graph);

// A selection by constant indices becomes a slice, or part of the weights that are multiplied with it.
void fold_selections(ir::Graph& graph);

// A maximum or minimum with one number becomes the clamp that it is.
void find_clamps(ir::Graph& graph);

// hardswish and hardsigmoid that are written as sums, clamps and products become the functions they are.
void fuse_hard_functions(ir::Graph& graph);

// Products with one filter per channel that are added up along time, as in SVDF layers, become a convolution.
void fuse_time_filter(ir::Graph& graph);

// Elementwise operators between one-dimensional convolutions move to the four-dimensional side of the views.
void lift_views(ir::Graph& graph);

// Functions of the elements of volumes that a convolution computes move to its images.
void lift_functions(ir::Graph& graph);

// Indices that operators find, and what is moved of them, have 32 bits instead of 64 where nothing but indexing reads
// them.
void narrow_integers(ir::Graph& graph);

// Outputs of a convolution that are cropped are not computed.
void fold_crop(ir::Graph& graph);

// Factors and terms per channel between the program's input and a convolution or linear layer become part of that
// layer; the zeros that it pads with become a border of the values they stand for. Says where it did the latter. Such a
// border needs the whole image: when computing by rows, those steps stay.
enum class BorderOfMeans : std::uint8_t { allowed, avoided };
std::vector<std::string> fold_normalization(ir::Graph& graph, BorderOfMeans border = BorderOfMeans::allowed);

// Zeros that a model puts around an image become the padding of the convolution that reads it.
void fold_pad(ir::Graph& graph);

// The same of quantized convolutions where both sides of an image get different numbers of zeros, for ExecuTorch's
// newest runtime: padding then has four entries.
void fold_uneven_pad(ir::Graph& graph);

// Batch norms after a convolution or linear become part of its weights and bias.
void fold_batch_norm(ir::Graph& graph);

// Factors and terms per output channel after a convolution or linear become part of its weights and bias; a product of
// matrices with a constant on the right is a linear layer.
void fold_factors(ir::Graph& graph);

// A hardsigmoid after a convolution or linear becomes part of its weights, bias and clamp, or of its result's
// quantization parameters.
void fuse_hardsigmoid(ir::Graph& graph);

// A hardswish between conversions, as ExecuTorch's quantizer leaves it, rounds as ExecuTorch does.
void keep_hardswish(ir::Graph& graph);

// A clamp (relu, relu6, hardtanh) after an operator that can clamp its own output becomes its activation_min/max.
void fuse_activations(ir::Graph& graph);

// A PReLU or leaky ReLU after a convolution or a linear layer becomes its activation_slopes where may_fuse(layer,
// function).
void fuse_slopes(ir::Graph& graph, const std::function<bool(const ir::Node&, const ir::Node&)>& may_fuse);

// Integers that pass through float only to get another scale are converted by a table.
void join_conversions(ir::Graph& graph);

// A network over a window of its first input becomes one that takes only the new entries of an axis and keeps the rest
// as state. Throws InputError, naming the layer, if that is impossible.
struct StreamOptions {
  std::int64_t axis = 0;   // of the first input; negative: from the end
  std::int64_t hop = 1;    // new entries in each execution
  bool causal = false;     // continue where results differ from the window's: at padded edges, with recurrent state
  bool keeps_sums = true;  // of means over the window; ExecuTorch has no kernel for it
};
// What became of an output.
struct StreamedOutput {
  std::optional<std::size_t> axis;  // along which it has only its newest entries; none: it is the same as the window's
  std::int64_t lag = 0;             // how many entries the window is ahead of them
};
// The first layer that computes the whole window each time where it might have computed only new entries, and how many
// there are, with those after it.
struct WholeWindow {
  std::string node, source;
  std::size_t nodes = 0;
};
struct StreamedNetwork {
  std::vector<StreamedOutput> outputs;
  std::optional<WholeWindow> whole;
};
StreamedNetwork stream(ir::Graph& graph, const StreamOptions& options);

// A delay line before a dilated convolution, of which few entries are read, is not shifted but a ring.
void ring_states(ir::Graph& graph);

// uint8 that a model converts to float, and calibration back to the same levels, does not become float.
void keep_bytes(ir::Graph& graph);

// Inputs and outputs that are int8 become uint8, with zero points 128 higher.
void take_uint8(ir::Graph& graph);

// Channels that are the same for every input become part of the biases after them; returns how many. The number of
// remaining channels is a multiple of `multiple`.
std::size_t drop_channels(ir::Graph& graph, std::size_t multiple = 1);

// With 16-bit activations, operators without such kernels become others that have them. A part of lower().
void compose_words(ir::Graph& graph);

// Quantized aten nodes become cortex_m nodes with ExecuTorch's schemas, nodes in float the portable operators.
void lower(ir::Graph& graph, const ops::Config& config);

// Gives every 4-D tensor its memory order, with a transpose only where two operators that disagree meet.
void decide_layout(ir::Graph& graph, const ops::Config& config = {});

// What the model returns is written by an instruction, even if it is a constant.
void copy_constant_outputs(ir::Graph& graph);

// Heavy cortex_m nodes become cormorant nodes whose constants are laid out for the target's inner loops.
void prepack(ir::Graph& graph, const ops::Config& config);

// A state whose update is a concatenation of slices of itself and something new is written in part, or shifted.
void update_states(ir::Graph& graph, const ops::Config& config);

// A state's new contents are computed in the state's memory, or copied there after the last reader.
void place_updates(ir::Graph& graph);

// Unused nodes and constants are removed; identical constants are kept once.
void clean_up(ir::Graph& graph);

// After lowering every node must be one that a program can hold: names each that is not, with reason and source. Throws
// InputError for operators left in float, std::logic_error for nodes that no stage should have left.
void require_program_operators(const ir::Graph& graph, const ops::Config& config);

}  // namespace cormorant::passes
