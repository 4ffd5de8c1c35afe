// SPDX-License-Identifier: Apache-2.0
//
// Arrays from files matched to a graph's inputs: by input name, or `x` for a single one; the first axis counts samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evaluate/tensor.h"
#include "formats/npy/data_set.h"
#include "ir/graph.h"
#include "quantizer/samples.h"

namespace cormorant::compiler {

// Elements are converted to float sample by sample; a shape that does not fit is an InputError. For sequences the
// second axis counts steps, and the rest is the input's whole shape.
enum class Axes : std::uint8_t { samples, sequences };
quantizer::Samples read_samples(const std::string& path, const ir::Graph& graph, Axes axes = Axes::samples,
                                const std::string& method = {});
quantizer::Samples samples_of(std::shared_ptr<const npy::DataSet> data, const ir::Graph& graph,
                              Axes axes = Axes::samples);

// One array as float; bool and integers count as their numbers.
std::vector<float> to_float(DType dtype, std::span<const std::byte> bytes);

}  // namespace cormorant::compiler
