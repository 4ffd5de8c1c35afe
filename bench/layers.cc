// SPDX-License-Identifier: Apache-2.0
#include "bench/layers.h"

#include <cmath>
#include <random>

namespace cormorant::bench {
namespace {

using Ints = std::vector<std::int64_t>;

// A graph in the making: one input after the other, then the layer.
struct Maker {
  ir::Graph graph;
  std::mt19937 generator{1};

  ir::Value* input(ir::Shape shape) { return graph.add_input("x", ir::float_type(std::move(shape))); }
  ir::Value* weights(ir::Shape shape, std::int64_t fan_in) {
    ir::TensorType type = ir::float_type(std::move(shape));
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(fan_in)));
    std::vector<float> values(static_cast<std::size_t>(type.elements()));
    for (float& value : values) value = normal(generator);
    return graph.add_constant("w", std::move(type), ir::Bytes::of(std::span<const float>(values)));
  }
  ir::Graph finish(const char* op, std::vector<ir::NamedArgument> args, ir::Shape shape) {
    graph.add_output(graph.add_node("layer", op, std::move(args), {ir::float_type(std::move(shape))})->result());
    return std::move(graph);
  }
};

struct Window {
  Ints kernel = {1, 1}, stride = {1, 1}, padding = {0, 0};

  [[nodiscard]] std::int64_t outputs(const ir::Shape& in, std::size_t axis) const {
    return (in[2 + axis] + 2 * padding[axis] - kernel[axis]) / stride[axis] + 1;
  }
};

Layer conv(const char* name, const ir::Shape& in, std::int64_t outputs, const Window& w, std::int64_t groups = 1) {
  return {name, [=] {
            Maker m;
            const std::int64_t inputs = in[1] / groups;
            ir::Value* x = m.input(in);
            ir::Value* weights =
                m.weights({outputs, inputs, w.kernel[0], w.kernel[1]}, inputs * w.kernel[0] * w.kernel[1]);
            ir::Value* bias = m.weights({outputs}, 4);
            return m.finish("aten.conv2d",
                            {{"input", x},
                             {"weight", weights},
                             {"bias", bias},
                             {"stride", w.stride},
                             {"padding", w.padding},
                             {"dilation", Ints{1, 1}},
                             {"groups", groups}},
                            {in[0], outputs, w.outputs(in, 0), w.outputs(in, 1)});
          }};
}

Layer square(const char* name, std::int64_t inputs, std::int64_t outputs, std::int64_t side, std::int64_t kernel = 1,
             std::int64_t stride = 1, std::int64_t groups = 1) {
  const std::int64_t padding = kernel / 2;
  return conv(name, {1, inputs, side, side}, outputs, {{kernel, kernel}, {stride, stride}, {padding, padding}}, groups);
}

Layer depthwise(const char* name, std::int64_t channels, std::int64_t side, std::int64_t kernel = 3,
                std::int64_t stride = 1) {
  return square(name, channels, channels, side, kernel, stride, channels);
}

Layer transposed(const char* name, std::int64_t inputs, std::int64_t outputs, std::int64_t kernel, std::int64_t more) {
  return {name, [=] {
            Maker m;
            ir::Value* x = m.input({1, inputs, 8, 8});
            ir::Value* weights = m.weights({inputs, outputs, kernel, kernel}, inputs * kernel * kernel / 4);
            ir::Value* bias = m.weights({outputs}, 4);
            return m.finish("aten.conv_transpose2d",
                            {{"input", x},
                             {"weight", weights},
                             {"bias", bias},
                             {"stride", Ints{2, 2}},
                             {"padding", Ints{1, 1}},
                             {"output_padding", Ints{more, more}},
                             {"groups", std::int64_t{1}},
                             {"dilation", Ints{1, 1}}},
                            {1, outputs, 16, 16});
          }};
}

Layer linear(const char* name, std::int64_t inputs, std::int64_t outputs, std::int64_t rows = 1) {
  return {name, [=] {
            Maker m;
            ir::Value* x = m.input({rows, inputs});
            ir::Value* weights = m.weights({outputs, inputs}, inputs);
            ir::Value* bias = m.weights({outputs}, 4);
            return m.finish("aten.linear", {{"input", x}, {"weight", weights}, {"bias", bias}}, {rows, outputs});
          }};
}

Layer softmax(const char* name, std::int64_t rows, std::int64_t size) {
  return {name, [=] {
            Maker m;
            ir::Value* x = m.input({rows, size});
            return m.finish("aten.softmax", {{"self", x}, {"dim", std::int64_t{1}}}, {rows, size});
          }};
}

Layer binary(const char* name, const char* op, const ir::Shape& shape) {
  return {name, [=] {
            Maker m;
            ir::Value* a = m.input(shape);
            ir::Value* b = m.input(shape);
            std::vector<ir::NamedArgument> args = {{"self", a}, {"other", b}};
            if (std::string(op) == "aten.add") args.push_back({"alpha", 1.0});
            return m.finish(op, std::move(args), shape);
          }};
}

Layer product(const char* name, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  return {name, [=] {
            Maker m;
            ir::Value* a = m.input({2, rows, inner});
            ir::Value* b = m.input({2, inner, columns});
            return m.finish("aten.bmm", {{"self", a}, {"mat2", b}, {"transposed", false}, {"scale", 1.0}},
                            {2, rows, columns});
          }};
}

Layer pool(const char* name, bool largest, const ir::Shape& in, const Window& w) {
  return {name, [=] {
            Maker m;
            ir::Value* x = m.input(in);
            std::vector<ir::NamedArgument> args = {
                {"self", x}, {"kernel_size", w.kernel}, {"stride", w.stride}, {"padding", w.padding}};
            if (largest) args.push_back({"dilation", Ints{1, 1}});
            args.push_back({"ceil_mode", false});
            if (!largest) args.push_back({"count_include_pad", true});
            if (!largest) args.push_back({"divisor_override", ir::None{}});
            return m.finish(largest ? "aten.max_pool2d" : "aten.avg_pool2d", std::move(args),
                            {in[0], in[1], w.outputs(in, 0), w.outputs(in, 1)});
          }};
}

Layer transpose(const char* name) {
  return {name, [] {
            Maker m;
            ir::Value* x = m.input({64, 64});
            return m.finish("aten.permute", {{"self", x}, {"dims", Ints{1, 0}}}, {64, 64});
          }};
}

}  // namespace

std::vector<Layer> layers() {
  return {conv("kws conv 10x4 s2 1-64 49x10", {1, 1, 49, 10}, 64, {{10, 4}, {2, 2}, {5, 1}}),
          conv("kws dw 3x3 64 25x5", {1, 64, 25, 5}, 64, {{3, 3}, {1, 1}, {1, 1}}, 64),
          conv("kws 1x1 64-64 25x5", {1, 64, 25, 5}, 64, {}),
          square("vww conv 3x3 s2 3-8 96", 3, 8, 96, 3, 2),
          depthwise("vww dw 3x3 8 48", 8, 48),
          square("vww 1x1 8-16 48", 8, 16, 48),
          depthwise("vww dw 3x3 s2 16 48", 16, 48, 3, 2),
          square("vww 1x1 16-32 24", 16, 32, 24),
          square("vww 1x1 32-32 24", 32, 32, 24),
          depthwise("vww dw 3x3 64 12", 64, 12),
          square("vww 1x1 128-128 6", 128, 128, 6),
          depthwise("vww dw 3x3 256 3", 256, 3),
          square("vww 1x1 256-256 3", 256, 256, 3),
          square("ic conv 3x3 3-16 32", 3, 16, 32, 3),
          square("ic conv 3x3 16-16 32", 16, 16, 32, 3),
          square("ic conv 3x3 s2 16-32 32", 16, 32, 32, 3, 2),
          square("ic conv 3x3 64-64 8", 64, 64, 8, 3),
          square("ic 1x1 s2 16-32 32", 16, 32, 32, 1, 2),
          binary("ic add 32x32x16", "aten.add", {1, 16, 32, 32}),
          pool("kws avgpool 25x5x64", false, {1, 64, 25, 5}, {{25, 5}, {25, 5}, {0, 0}}),
          linear("kws fc 64-12", 64, 12),
          softmax("kws softmax 1x12", 1, 12),
          linear("ad fc 640-128", 640, 128),
          linear("ad fc 128-128", 128, 128),
          linear("ad fc 8-128", 8, 128),
          linear("ad fc 128-8", 128, 8),
          square("mv2 1x1 24-144 28", 24, 144, 28),
          depthwise("mv2 dw 3x3 144 28", 144, 28),
          square("mv2 1x1 144-24 28", 144, 24, 28),
          square("mv2 1x1 96-576 14", 96, 576, 14),
          depthwise("mv2 dw 3x3 s2 576 14", 576, 14, 3, 2),
          square("mv2 1x1 320-1280 7", 320, 1280, 7),
          binary("mv2 add 14x14x96", "aten.add", {1, 96, 14, 14}),
          linear("mv2 fc 1280-1000", 1280, 1000),
          square("conv 3x3 32-32 g4 10", 32, 32, 10, 3, 1, 4),
          square("conv 3x3 32-32 g16 10", 32, 32, 10, 3, 1, 16),
          square("1x1 64-64 g8 10", 64, 64, 10, 1, 1, 8),
          conv("1x5 32-32 1x64", {1, 32, 1, 64}, 32, {{1, 5}, {1, 1}, {0, 2}}),
          depthwise("dw 5x5 64 12", 64, 12, 5),
          conv("dw 3x3 16x2 12", {1, 16, 12, 12}, 32, {{3, 3}, {1, 1}, {1, 1}}, 16),
          linear("fc 16 rows 64-64", 64, 64, 16),
          transposed("tconv 4x4 s2 16-16 8", 16, 16, 4, 0),
          transposed("tconv 3x3 s2 32-16 8", 32, 16, 3, 1),
          product("bmm 2x64x32x64", 64, 32, 64),
          product("bmm 2x64x64x32", 64, 64, 32),
          binary("mul 16384", "aten.mul", {16384}),
          binary("minimum 16384", "aten.minimum", {16384}),
          pool("avg 2x2 32ch 16", false, {1, 32, 16, 16}, {{2, 2}, {2, 2}, {0, 0}}),
          pool("max 2x2 32ch 16", true, {1, 32, 16, 16}, {{2, 2}, {2, 2}, {0, 0}}),
          pool("max 3x3 s2 16ch 15", true, {1, 16, 15, 15}, {{3, 3}, {2, 2}, {0, 0}}),
          softmax("softmax 16x64", 16, 64),
          transpose("transpose 64x64")};
}

ir::Graph lstm() {
  constexpr std::int64_t kSteps = 28, kFeatures = 28, kUnits = 20, kGates = 4 * kUnits, kClasses = 10;
  Maker m;
  const auto add = [&](const char* name, const char* op, std::vector<ir::NamedArgument> args,
                       std::vector<ir::TensorType> types) {
    return m.graph.add_node(name, op, std::move(args), std::move(types))->results[0];
  };
  ir::Value* x = m.input({kSteps, 1, kFeatures});
  x = add("lstm", "aten.recurrent",
          {{"input", x},
           {"h", ir::None{}},
           {"c", ir::None{}},
           {"w_ih", m.weights({kGates, kFeatures}, kUnits)},
           {"w_hh", m.weights({kGates, kUnits}, kUnits)},
           {"b_ih", m.weights({kGates}, kUnits)},
           {"b_hh", m.weights({kGates}, kUnits)},
           {"kind", std::string("lstm")},
           {"backwards", false}},
          {ir::float_type({kSteps, 1, kUnits}), ir::float_type({1, kUnits})});
  x = add("last", "aten.slice",
          {{"self", x}, {"dim", std::int64_t{0}}, {"start", kSteps - 1}, {"end", kSteps}, {"step", std::int64_t{1}}},
          {ir::float_type({1, 1, kUnits})});
  x = add("flat", "aten.view", {{"self", x}, {"size", Ints{1, kUnits}}}, {ir::float_type({1, kUnits})});
  ir::Value* weights = m.weights({kClasses, kUnits}, kUnits);
  ir::Value* bias = m.weights({kClasses}, kUnits);
  return m.finish("aten.linear", {{"input", x}, {"weight", weights}, {"bias", bias}}, {1, kClasses});
}

}  // namespace cormorant::bench
