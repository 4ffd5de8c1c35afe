// SPDX-License-Identifier: Apache-2.0
#include "ops/host/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "ops/host/advice.h"
#include "ops/host/build.h"

namespace cormorant::ops {
namespace {

// A number of the call, or the numbers of a constant; none of what is computed.
std::optional<std::vector<double>> numbers_given(Importer& importer, std::string_view argument) {
  const ir::Argument& given = importer.call->get(argument);
  if (auto* const* tensor = std::get_if<ir::Value*>(&given)) {
    if (is_float((*tensor)->type.dtype) && (*tensor)->type.dtype != DType::f32) {
      importer.reject(std::string("its parameters are ") + name_of((*tensor)->type.dtype),
                      "call model.float() before it is quantized");
    }
    return Build(importer).numbers_of(*tensor);
  }
  return std::vector<double>{importer.call->number(argument)};
}

bool names(const ir::Node& call, std::string_view argument) {
  return std::ranges::find(call.args, argument, &ir::NamedArgument::name) != call.args.end();
}

template <class T>
ir::Value* integers(Importer& importer, const ir::Value& real, const ir::QuantParams& quant,
                    const std::vector<double>& levels) {
  std::vector<T> data(levels.size());
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<T>(levels[i]);
  return importer.graph->add_constant(real.name + "_int", ir::quantized_type(real.type.shape, quant),
                                      ir::Bytes::of(std::span<const T>(data)));
}

}  // namespace

SpelledParameters::SpelledParameters(Importer& importer, DType dtype, const ir::Shape& shape,
                                     std::vector<std::int64_t> block)
    : importer_(importer), dtype_(dtype), shape_(shape), block_(std::move(block)) {
  const ir::Node& call = *importer.call;
  const std::string_view scale = names(call, "scale") ? "scale" : "scales";
  const std::string_view zero = names(call, "zero_point") ? "zero_point" : "zero_points";
  const auto scales = numbers_given(importer, scale);
  const auto zeros = call.has(zero) ? numbers_given(importer, zero) : std::vector<double>();
  if (!scales || !zeros) {
    importer.reject("its scale or zero point is not a constant of the model",
                    "kernels have fixed parameters: quantize with static ones, or export the float model and let "
                    "compile quantize it (--calibrate)");
  }
  const bool is_integer_type = dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16 || dtype == DType::i32;
  if (!is_integer_type) {
    importer.reject(std::string("quantization to ") + name_of(dtype), "int8 and int16 are supported");
  }
  std::size_t blocks = 1;
  bool fits = block_.size() == shape_.size();
  for (std::size_t d = 0; fits && d < shape_.size(); ++d) {
    fits = block_[d] > 0 && shape_[d] % block_[d] == 0;
    if (!fits) break;
    counts_.push_back(shape_[d] / block_[d]);
    blocks *= static_cast<std::size_t>(counts_.back());
  }
  fits = fits && scales->size() == blocks && (zeros->empty() || zeros->size() == blocks);
  if (!fits)
    importer.reject("the number of scales does not match the channels", "the file is damaged: export it again");
  const std::int64_t bits = 8 * static_cast<std::int64_t>(size_of(dtype));
  const auto lowest = dtype == DType::u8 ? 0.0 : -std::ldexp(1.0, static_cast<int>(bits - 1));
  const double highest = lowest + std::ldexp(1.0, static_cast<int>(bits)) - 1;
  const auto bound = [&](std::string_view argument, double otherwise) {
    if (!call.has(argument)) return otherwise;
    const auto given = numbers_given(importer, argument);
    return given && given->size() == 1 ? given->front() : std::numeric_limits<double>::quiet_NaN();
  };
  const double low = bound("quant_min", lowest), high = bound("quant_max", highest);
  if (!(low >= lowest && low < high && high <= highest)) {
    importer.reject(std::string("quantization to ") + name_of(dtype) + " with a range that the type does not have",
                    kInconsistent);
  }
  low_ = static_cast<std::int32_t>(low);
  high_ = static_cast<std::int32_t>(high);
  scales_ = *scales;
  if (!std::ranges::all_of(scales_, [](double s) { return s > 0 && std::isfinite(s); })) {
    importer.reject("a scale that is not positive", kInconsistent);
  }
  for (const double number : *zeros) {
    if (!(number >= low && number <= high)) importer.reject("a zero point outside of the range", kInconsistent);
    zero_points_.push_back(static_cast<std::int32_t>(number));
  }
  zero_points_.resize(blocks, 0);
}

std::size_t SpelledParameters::block_of(std::size_t element) const {
  std::size_t block = 0, times = 1;
  for (std::size_t d = shape_.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape_[d]);
    block += element % size / static_cast<std::size_t>(block_[d]) * times;
    times *= static_cast<std::size_t>(counts_[d]);
    element /= size;
  }
  return block;
}

// Whether blocks at the same place along the axis have the same parameters.
bool SpelledParameters::depends_only_on(std::optional<std::size_t> axis) const {
  std::size_t inner = 1, along = 1;
  for (std::size_t d = axis ? *axis : shape_.size(); d < shape_.size(); ++d) {
    (d == *axis ? along : inner) *= static_cast<std::size_t>(counts_[d]);
  }
  for (std::size_t k = 0; k < scales_.size(); ++k) {
    const std::size_t first = k / inner % along * inner;
    if (scales_[k] != scales_[first] || zero_points_[k] != zero_points_[first]) return false;
  }
  return true;
}

std::optional<ir::QuantParams> SpelledParameters::params() const {
  ir::QuantParams quant{.dtype = dtype_, .qmin = low_, .qmax = high_, .axis = {}, .scales = {}, .zero_points = {}};
  if (scales_.size() == 1) {
    quant.scales = scales_;
    quant.zero_points = zero_points_;
    return quant;
  }
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    if (counts_[axis] == 1 || !depends_only_on(axis)) continue;
    std::size_t inner = 1;
    for (std::size_t d = axis + 1; d < shape_.size(); ++d) inner *= static_cast<std::size_t>(counts_[d]);
    quant.axis = static_cast<std::int32_t>(axis);
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      const std::size_t block = static_cast<std::size_t>(i / block_[axis]) * inner;
      quant.scales.push_back(scales_[block]);
      quant.zero_points.push_back(zero_points_[block]);
    }
    return quant;
  }
  return std::nullopt;
}

ir::QuantParams SpelledParameters::of_activation() const {
  const std::optional<ir::QuantParams> quant = params();
  if (!quant || quant->per_channel()) {
    importer_.reject("only constants can have one scale per channel", "quantize activations per tensor");
  }
  return *quant;
}

ir::Value* SpelledParameters::in_float(ir::Value* integers) const {
  const auto stored = Build(importer_).numbers_of(integers).value();
  std::vector<float> real(stored.size());
  for (std::size_t i = 0; i < real.size(); ++i) {
    const std::size_t block = block_of(i);
    real[i] = static_cast<float>((stored[i] - zero_points_[block]) * scales_[block]);
  }
  return importer_.graph->add_constant(integers->name + "_real", ir::float_type(integers->type.shape),
                                       ir::Bytes::of(std::span<const float>(real)));
}

ir::Value* SpelledParameters::in_integers(ir::Value* real) const {
  const std::optional<ir::QuantParams> quant = params();
  if (!quant || (dtype_ != DType::i8 && dtype_ != DType::i16)) {
    importer_.reject("a constant is quantized in blocks along several dimensions",
                     "let the export fold it to integers, or quantize it per channel");
  }
  const auto numbers = Build(importer_).numbers_of(real).value();
  std::vector<double> levels(numbers.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::size_t block = block_of(i);
    const auto inverse = static_cast<float>(1.0 / scales_[block]);  // as PyTorch does
    const double level = double{std::nearbyint(static_cast<float>(numbers[i]) * inverse)} + zero_points_[block];
    if (std::isnan(level)) {
      importer_.reject("the constant '" + real->name + "' contains a NaN, which cannot be quantized",
                       "check the model's constants there");
    }
    levels[i] = std::clamp<double>(level, low_, high_);
  }
  return dtype_ == DType::i8 ? integers<std::int8_t>(importer_, *real, *quant, levels)
                             : integers<std::int16_t>(importer_, *real, *quant, levels);
}

std::size_t channel_axis(const Importer& importer, std::size_t rank) {
  const auto dims = static_cast<std::int64_t>(rank);
  const std::int64_t given = importer.call->integer("axis");
  const std::int64_t axis = given < 0 ? given + dims : given;
  if (axis < 0 || axis >= dims) importer.reject("the tensor has no axis " + std::to_string(given), kInconsistent);
  return static_cast<std::size_t>(axis);
}

}  // namespace cormorant::ops
