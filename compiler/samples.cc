// SPDX-License-Identifier: Apache-2.0
#include "compiler/samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/diagnostic.h"

namespace cormorant::compiler {
namespace {

template <class T>
std::vector<float> converted(std::span<const std::byte> bytes) {
  std::vector<float> out(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(element);
  }
  return out;
}

const npy::Array& array_for(const npy::DataSet& data, const ir::Graph& graph, const ir::Value& input) {
  if (const npy::Array* named = npy::find(data.arrays, input.name)) return *named;
  if (graph.inputs().size() == 1) {
    if (const npy::Array* x = npy::find(data.arrays, "x")) return *x;
    if (data.arrays.size() == 1) return data.arrays.front().second;
  }
  std::vector<std::string> names;
  for (const auto& [name, array] : data.arrays) names.push_back(name);
  throw InputError(
      {fmt::format("no array for the model's input '{}'; the file has {}", input.name, fmt::join(names, ", ")),
       "name each array like the model's input (x is accepted for a single input)", data.path});
}

// A sample is the input's shape, with or without its leading batch axis of 1.
bool fits(const ir::Shape& input, std::span<const std::int64_t> sample) {
  const auto equal = [&](std::span<const std::int64_t> wanted) {
    return std::equal(wanted.begin(), wanted.end(), sample.begin(), sample.end());
  };
  return equal(input) || (!input.empty() && input[0] == 1 && equal(std::span(input).subspan(1)));
}

// How many steps the sequences of an array have.
std::size_t steps_of(const npy::Array& array, const ir::Value& input, const std::string& path) {
  const bool has_steps = array.shape.size() >= 2 && array.shape[1] > 0;
  if (!has_steps || !std::ranges::equal(std::span(array.shape).subspan(2), input.type.shape)) {
    throw InputError(
        {fmt::format("array of shape [{}] does not hold sequences for the model's input '{}' of shape [{}]",
                     fmt::join(array.shape, ", "), input.name, fmt::join(input.type.shape, ", ")),
         "with --sequence the first axis counts samples, the second steps; the rest must be the input's whole shape, "
         "including its leading 1",
         path});
  }
  return static_cast<std::size_t>(array.shape[1]);
}

}  // namespace

std::vector<float> to_float(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::f32:
      return converted<float>(bytes);
    case DType::f64:
      return converted<double>(bytes);
    case DType::u8:
    case DType::boolean:
      return converted<std::uint8_t>(bytes);
    case DType::i8:
      return converted<std::int8_t>(bytes);
    case DType::i16:
      return converted<std::int16_t>(bytes);
    case DType::i32:
      return converted<std::int32_t>(bytes);
    case DType::i64:
      return converted<std::int64_t>(bytes);
    default:
      throw InputError({fmt::format("arrays of type {} cannot be inputs", name_of(dtype)), "save them as float32"});
  }
}

quantizer::Samples samples_of(std::shared_ptr<const npy::DataSet> data, const ir::Graph& graph, Axes axes) {
  struct Input {
    ir::Shape shape;
    const npy::Array* array;
  };
  std::vector<Input> inputs;
  std::size_t steps = 1;
  for (const ir::Value* input : graph.inputs()) {
    const npy::Array& array = array_for(*data, graph, *input);
    if (axes == Axes::sequences) {
      const std::size_t own = steps_of(array, *input, data->path);
      if (!inputs.empty() && own != steps) {
        throw InputError({fmt::format("the array for '{}' has {} steps, but others have {}", input->name, own, steps),
                          "all inputs of a sequence must have the same number of steps", data->path});
      }
      steps = own;
    } else if (!fits(input->type.shape, std::span(array.shape).subspan(1))) {
      throw InputError({fmt::format("array of shape [{}] does not fit the model's input '{}' of shape [{}]",
                                    fmt::join(array.shape, ", "), input->name, fmt::join(input->type.shape, ", ")),
                        "the first axis counts samples; the rest must be the input's shape", data->path});
    }
    inputs.push_back({input->type.shape, &array});
  }
  quantizer::Samples samples;
  samples.count = static_cast<std::size_t>(data->samples) * steps;
  samples.steps = steps;
  samples.load = [data, inputs, steps](std::size_t index) {
    quantizer::Sample sample;
    for (const Input& input : inputs) {
      const auto sequence = npy::sample(*input.array, static_cast<std::int64_t>(index / steps));
      const std::size_t bytes = sequence.size() / steps;
      sample.emplace_back(input.shape, to_float(input.array->dtype, sequence.subspan(index % steps * bytes, bytes)));
    }
    return sample;
  };
  return samples;
}

quantizer::Samples read_samples(const std::string& path, const ir::Graph& graph, Axes axes, const std::string& method) {
  return samples_of(std::make_shared<const npy::DataSet>(npy::read_data_set(path, method)), graph, axes);
}

}  // namespace cormorant::compiler
