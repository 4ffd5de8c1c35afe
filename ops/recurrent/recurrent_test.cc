// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/diagnostic.h"
#include "ops/op.h"
#include "ops/recurrent/arithmetic.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

using recurrent::Kind;

struct Layer {
  Kind kind;
  std::int64_t steps, batch, inputs, units;
  bool given = false;  // states, else zeros
  bool backwards = false;
  bool biases = true;
  double input_scale = 0.02;
  double weight_scale = 0.0012;
  bool returns_last = false;
  std::int32_t weight = 0;     // all of them; 0: random
  bool words = false;          // 16-bit activations
  double coarser = 1;          // the unit of products of the input than that of h, with them
  bool finer_cell = false;     // c with 12 fractional bits
  double opposite = 0;         // added to what the input adds to a sum, and subtracted from what h adds
  std::int64_t projected = 0;  // elements of h after a projection; 0: none

  [[nodiscard]] bool keeps_own_h() const { return projected != 0 || kind == Kind::rnn_relu; }
  [[nodiscard]] std::int64_t outputs() const { return projected != 0 ? projected : units; }
  [[nodiscard]] std::string text() const {
    const char* const names[] = {"lstm", "gru", "rnn", "relu"};
    return std::string(names[static_cast<int>(kind)]) + " " + std::to_string(inputs) + " to " + std::to_string(units) +
           ", " + std::to_string(steps) + " steps of " + std::to_string(batch) + (given ? ", given" : "") +
           (backwards ? ", backwards" : "") + (returns_last ? ", last" : "") + (weight != 0 ? ", extreme" : "") +
           (words ? ", words" : "") + (coarser != 1 ? ", coarser" : "") + (finer_cell ? ", finer cell" : "") +
           (opposite != 0 ? ", opposite" : "") + (projected != 0 ? ", projected to " + std::to_string(projected) : "");
  }
};

ir::QuantParams words(double scale) { return {DType::i16, -32768, 32767, std::nullopt, {scale}, {0}}; }

constexpr double kStateScale = 0.008;
constexpr std::int32_t kStateZero = -3;

// Of the states, and of an h that has their integers: those of a relu reach from 0 to 3, unless a negative h is given.
ir::QuantParams states_of(const Layer& layer) {
  const bool is_relu = layer.kind == Kind::rnn_relu;
  if (layer.words)
    return words(layer.keeps_own_h() ? (is_relu ? 3 : 2) * recurrent::kUnitScale : recurrent::kUnitScale);
  if (is_relu) return ir::per_tensor_i8(0.012, layer.given ? -90 : -128);
  return ir::per_tensor_i8(kStateScale, kStateZero);
}

// To the biases of sums that the input and h add to; a GRU has others, too.
void add(ir::Value& bias, const Layer& layer, double number) {
  const auto old = bias.data.as<std::int32_t>();
  std::vector<std::int32_t> levels(old.begin(), old.end());
  const auto rows =
      static_cast<std::size_t>((layer.kind == Kind::gru ? 2 : recurrent::gates_of(layer.kind)) * layer.units);
  for (std::size_t n = 0; n < rows; ++n) {
    levels[n] += static_cast<std::int32_t>(std::lround(number / bias.type.quant->scales.at(n)));
  }
  bias.data = ir::Bytes::of(std::span<const std::int32_t>(levels));
}

ir::Value* build(ir::Graph& g, const Layer& layer) {
  std::mt19937 random(static_cast<unsigned>(layer.inputs * 131 + layer.units * 7 + layer.steps));
  const ir::Shape input = {layer.steps, layer.batch, layer.inputs};
  const double input_scale = layer.words ? layer.input_scale / 256 : layer.input_scale;
  ir::Value* x =
      layer.words ? conformance::words_input(g, input, input_scale) : conformance::int8_input(g, input, input_scale, 5);
  const bool is_lstm = layer.kind == Kind::lstm;
  const std::int64_t rows = recurrent::gates_of(layer.kind) * layer.units;
  const ir::QuantParams states = states_of(layer);
  const double kept = is_lstm ? recurrent::kCellScale / (layer.finer_cell ? 2 : 1) : recurrent::kUnitScale;
  std::vector<double> scales(static_cast<std::size_t>(rows)), of_h(scales.size());
  for (std::size_t n = 0; n < scales.size(); ++n) {
    scales[n] = layer.weight_scale * (1 + 0.1 * static_cast<double>(n % 7));
    of_h[n] = scales[n] * input_scale / states.scale() / layer.coarser;
  }
  const auto weights = [&](std::int64_t columns, const std::vector<double>& own) {
    if (layer.weight == 0) return conformance::int8_weights(g, {rows, columns}, 0, random, own);
    ir::QuantParams quant{DType::i8, -128, 127, 0, own, std::vector<std::int32_t>(own.size())};
    const std::vector<std::int8_t> data(static_cast<std::size_t>(rows * columns),
                                        static_cast<std::int8_t>(layer.weight));
    return g.add_constant("w", ir::quantized_type({rows, columns}, quant),
                          ir::Bytes::of(std::span<const std::int8_t>(data)));
  };
  ir::Value* w_ih = weights(layer.inputs, scales);
  ir::Value* w_hh = weights(layer.outputs(), of_h);
  ir::Argument b_ih, b_hh, h, c;
  if (layer.biases) {
    const std::int32_t magnitude = layer.words ? 1000000 : 4000;
    b_ih = conformance::int32_bias(g, x, w_ih, random, magnitude);
    b_hh = conformance::int32_bias(g, x, w_ih, random, magnitude);
    if (layer.opposite != 0) {
      add(*std::get<ir::Value*>(b_ih), layer, layer.opposite);
      add(*std::get<ir::Value*>(b_hh), layer, -layer.opposite);
    }
  }
  const ir::Shape shape = {layer.batch, layer.units}, h_shape = {layer.batch, layer.outputs()};
  if (layer.given) {
    const ir::QuantParams as_bytes = layer.words ? ir::per_tensor_i8(kStateScale, kStateZero) : states;
    // 16-bit states come by way of float: the harness gives bytes.
    const auto converted = [&](const char* op, ir::Value* from, const ir::QuantParams& quant, ir::TensorType type) {
      return g
          .add_node("convert", op,
                    {{"input", from},
                     {"scale", quant.scale()},
                     {"zero_point", std::int64_t{quant.zero_point()}},
                     {"quant_min", std::int64_t{quant.qmin}},
                     {"quant_max", std::int64_t{quant.qmax}},
                     {"dtype", quant.dtype}},
                    {std::move(type)})
          ->result();
    };
    const auto widened = [&](ir::Value* bytes, const ir::QuantParams& quant) {
      const ir::Shape& of = bytes->type.shape;
      ir::Value* real = converted("quantized_decomposed.dequantize_per_tensor", bytes, as_bytes, ir::float_type(of));
      return converted("quantized_decomposed.quantize_per_tensor", real, quant, ir::quantized_type(of, quant));
    };
    ir::Value* bytes = conformance::int8_input(g, h_shape, as_bytes.scale(), as_bytes.zero_point());
    const bool is_as_states = is_lstm || layer.keeps_own_h();
    h = is_as_states && !layer.words ? bytes : widened(bytes, is_as_states ? states : words(recurrent::kUnitScale));
    if (layer.projected != 0) bytes = conformance::int8_input(g, shape, as_bytes.scale(), as_bytes.zero_point());
    if (is_lstm) c = widened(bytes, words(kept));
  }
  const char* const kinds[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
  std::vector<ir::NamedArgument> arguments = {{"input", x},
                                              {"h", h},
                                              {"c", c},
                                              {"w_ih", w_ih},
                                              {"w_hh", w_hh},
                                              {"b_ih", b_ih},
                                              {"b_hh", b_hh},
                                              {"kind", std::string(kinds[static_cast<int>(layer.kind)])},
                                              {"backwards", layer.backwards}};
  if (layer.projected != 0) {
    const std::vector<double> own(static_cast<std::size_t>(layer.projected), 0.004);
    const ir::Shape matrix = {layer.projected, layer.units};
    arguments.push_back({"w_hr", conformance::int8_weights(g, matrix, 0, random, own)});
  }
  std::vector<ir::TensorType> results = {ir::quantized_type({layer.steps, layer.batch, layer.outputs()}, states)};
  if (layer.kind != Kind::rnn_relu) results.push_back(ir::quantized_type(shape, words(kept)));
  return g.add_node("layer", "aten.recurrent", std::move(arguments), std::move(results))
      ->results.at(layer.returns_last ? 1 : 0);
}

std::vector<Layer> layers() {
  std::vector<Layer> all;
  for (const Kind kind : {Kind::lstm, Kind::gru, Kind::rnn}) {
    all.push_back({kind, 3, 1, 28, 20});
    all.push_back({.kind = kind, .steps = 2, .batch = 2, .inputs = 5, .units = 7, .given = true, .backwards = true});
    all.push_back({.kind = kind, .steps = 1, .batch = 1, .inputs = 1, .units = 1, .biases = false});
    all.push_back(
        {.kind = kind, .steps = 1, .batch = 3, .inputs = 17, .units = 13, .given = true, .returns_last = true});
    all.push_back(
        {.kind = kind, .steps = 2, .batch = 1, .inputs = 33, .units = 24, .input_scale = 0.5, .weight_scale = 0.01});
    all.push_back({.kind = kind, .steps = 4, .batch = 1, .inputs = 16, .units = 16, .returns_last = true});
  }
  return all;
}

// Those with an h of its own integers. The projections' inner lengths and rows are whole vectors, more and fewer.
std::vector<Layer> layers_of_own_h() {
  std::vector<Layer> all = {
      {Kind::rnn_relu, 3, 1, 28, 20},
      {.kind = Kind::rnn_relu, .steps = 2, .batch = 2, .inputs = 5, .units = 7, .given = true, .backwards = true},
      {.kind = Kind::rnn_relu, .steps = 1, .batch = 1, .inputs = 1, .units = 1, .biases = false},
      {.kind = Kind::rnn_relu, .steps = 1, .batch = 3, .inputs = 17, .units = 13, .given = true},
      {.kind = Kind::rnn_relu, .steps = 2, .batch = 1, .inputs = 33, .units = 24, .input_scale = 0.5}};
  const std::int64_t sizes[][2] = {{20, 9}, {7, 3}, {1, 1}, {13, 13}, {33, 8}, {16, 16}};
  for (const auto& [units, projected] : sizes) {
    all.push_back({.kind = Kind::lstm, .steps = 3, .batch = 1, .inputs = 11, .units = units, .projected = projected});
  }
  Layer both{.kind = Kind::lstm, .steps = 2, .batch = 2, .inputs = 6, .units = 10, .given = true, .backwards = true};
  both.projected = 5;
  all.push_back(both);
  both.steps = 1;
  both.returns_last = true;
  all.push_back(both);
  return all;
}

std::vector<Layer> with_words(std::vector<Layer> all) {
  for (Layer& layer : all) layer.words = true;
  return all;
}

// The same with 16-bit activations, and what only they have.
std::vector<Layer> layers_of_words() {
  std::vector<Layer> all = with_words(layers());
  for (const Kind kind : {Kind::lstm, Kind::gru}) {
    Layer shared{.kind = kind, .steps = 3, .batch = 2, .inputs = 19, .units = 11, .given = true, .words = true};
    shared.coarser = 32768.0 / 13777;
    all.push_back(shared);
    shared.steps = 40;
    shared.batch = 1;
    all.push_back(shared);
  }
  for (const bool returns_last : {false, true}) {
    all.push_back({.kind = Kind::lstm,
                   .steps = 5,
                   .batch = 2,
                   .inputs = 7,
                   .units = 9,
                   .given = true,
                   .returns_last = returns_last,
                   .words = true,
                   .finer_cell = true});
  }
  // Parts beyond the range of sums, −8 … 8, which cancel.
  for (const Kind kind : {Kind::lstm, Kind::gru, Kind::rnn}) {
    for (const double opposite : {-25, 12}) {
      all.push_back(
          {.kind = kind, .steps = 2, .batch = 1, .inputs = 9, .units = 10, .words = true, .opposite = opposite});
    }
  }
  return all;
}

std::vector<conformance::Case> cases(const std::vector<Layer>& of) {
  std::vector<conformance::Case> all;
  for (const Layer& layer : of) all.push_back({layer.text(), [=](ir::Graph& g) { return build(g, layer); }});
  return all;
}

TEST(Recurrent, EveryVariantEqualsTheReference) {
  std::vector<Layer> all = layers();
  // −128 does not fit pairs.
  all.push_back({.kind = Kind::gru, .steps = 2, .batch = 1, .inputs = 6, .units = 5, .weight = -128});
  for (const Layer& layer : layers_of_words()) all.push_back(layer);
  // Sums that would leave 32 bits.
  all.push_back({.kind = Kind::lstm, .steps = 1, .batch = 1, .inputs = 900, .units = 3, .weight = 127, .words = true});
  conformance::expect_same_bits_everywhere(cases(all));
}

TEST(Recurrent, EveryVariantOfAnHOfItsOwnEqualsTheReference) {
  std::vector<Layer> all = layers_of_own_h();
  // Not for pairs; states beyond their range; sums of parts that cancel; more units than 32 bits can sum up.
  Layer odd{.kind = Kind::rnn_relu, .steps = 2, .batch = 1, .inputs = 6, .units = 5, .weight = -128};
  all.push_back(odd);
  odd.weight = 127;
  odd.input_scale = 0.5;
  all.push_back(odd);
  odd = {.kind = Kind::lstm, .steps = 2, .batch = 1, .inputs = 6, .units = 5, .weight = -128, .projected = 4};
  all.push_back(odd);
  for (const Layer& layer : with_words(all)) all.push_back(layer);
  all.push_back(
      {.kind = Kind::rnn_relu, .steps = 2, .batch = 1, .inputs = 9, .units = 10, .words = true, .opposite = 12});
  all.push_back({.kind = Kind::lstm, .steps = 1, .batch = 1, .inputs = 2, .units = 600, .projected = 2});
  conformance::expect_same_bits_everywhere(cases(all));
}

// A relu and a projection pass on what h is off by: half a step in the products of the next step, whose weights are
// below 0.5.
TEST(Recurrent, AnHOfItsOwnIsNearTheFloatSemantics) {
  std::vector<Layer> states, cells, of_words;
  for (const Layer& layer : layers_of_own_h()) {
    if (layer.input_scale > 0.1) continue;  // saturated
    (layer.returns_last ? cells : states).push_back(layer);
  }
  conformance::expect_near_float_semantics(cases(states), 2);
  conformance::expect_near_float_semantics(cases(cells), 20);
  for (const Layer& layer : with_words(states)) of_words.push_back(layer);
  conformance::expect_near_float_semantics(cases(of_words), 40);
}

// What is rounded in one step goes into the next. The last state is judged in its own, finer steps: c by 2^-11, h by
// 2^-15, of which a step of the int8 h that went into the products is 262.
TEST(Recurrent, IsNearTheFloatSemantics) {
  std::vector<Layer> states, cells, others;
  for (const Layer& layer : layers()) {
    if (layer.input_scale > 0.1) continue;  // saturated
    (!layer.returns_last ? states : layer.kind == Kind::lstm ? cells : others).push_back(layer);
  }
  conformance::expect_near_float_semantics(cases(states), 1.5);
  conformance::expect_near_float_semantics(cases(cells), 20);
  conformance::expect_near_float_semantics(cases(others), 262);
}

// h by 2^-15, of which a step of the sums is 8, and of their first part 8 to 32: 8 where few inputs cannot make it
// large. A sum is off by half of both, the table adds 2 and rounding 1: 11 to 23. The gates of an LSTM or GRU have
// slopes of at most 1/4, so little of that is left. An RNN's tanh has one of up to 1, and what h is off by enters the
// next sum by way of weights. On average over these layers' rows the squares of weights times slopes add up to less
// than 1, so that the errors of k steps, which are independent, are about √k times that of one at most.
TEST(Recurrent, IsNearTheFloatSemanticsIn16Bits) {
  std::vector<Layer> states, cells;
  for (const Layer& layer : layers_of_words()) {
    if (layer.input_scale > 0.1) continue;
    if (layer.kind == Kind::rnn) {
      const double of_sum = layer.inputs <= 17 && layer.opposite == 0 ? 11 : 23;
      conformance::expect_near_float_semantics(cases({layer}), of_sum * std::sqrt(layer.steps));
    } else {
      (layer.returns_last && layer.kind == Kind::lstm ? cells : states).push_back(layer);
    }
  }
  conformance::expect_near_float_semantics(cases(states), 40);
  conformance::expect_near_float_semantics(cases(cells), 4);
}

TEST(RecurrentArithmetic, FunctionsAreWithinATenThousandth) {
  for (std::int32_t x = -32768; x <= 32767; ++x) {
    const double real = x / 4096.0;
    ASSERT_NEAR(recurrent::Functions().tanh(x) / 32768.0, std::tanh(real), 2.3e-4) << x;
    ASSERT_NEAR(recurrent::Functions().sigmoid(x) / 32768.0, 1 / (1 + std::exp(-real)), 1.5e-4) << x;
    ASSERT_NEAR(recurrent::WideFunctions().tanh(x) / 32768.0, std::tanh(real), 8e-5) << x;
    ASSERT_NEAR(recurrent::WideFunctions().sigmoid(x) / 32768.0, 1 / (1 + std::exp(-2 * real)), 8e-5) << x;
  }
}

// ---- damaged programs -----------------------------------------------------------------------------------------------

TEST(RecurrentLoad, RefusesConstantsAndStatesThatDoNotFit) {
  using Header = recurrent::PackedHeader;
  constexpr recurrent::Geometry kGeometry{Kind::lstm, recurrent::Layout::scalar, 6, 5};
  constexpr recurrent::Geometry kWords{Kind::lstm, recurrent::Layout::scalar_words, 6, 5};
  struct Call {
    std::size_t bytes = kGeometry.bytes();
    std::int64_t scratch = kGeometry.scratch_bytes();
    ir::Shape states = {3, 2, 5}, c = {2, 5};
    DType h = DType::i8;
    const char* op = "cormorant.recurrent.scalar";
    DType x = DType::i8, y = DType::i8;
  };
  const auto load = [&](const auto& damage, const Call& call = {}) {
    std::vector<std::int8_t> packed(call.bytes);
    Header header{6, 5, 0, 0, 0, 0, 16384, 7, 0};
    damage(header);
    std::memcpy(packed.data(), &header, std::min(packed.size(), sizeof header));
    ir::Graph graph;
    const auto type = [](DType dtype, ir::Shape shape) {
      return ir::TensorType{.dtype = dtype, .shape = std::move(shape), .dim_order = {}, .quant = {}};
    };
    ir::Value* x = graph.add_input("x", type(call.x, {3, 2, 6}));
    ir::Value* h = graph.add_input("h", type(call.h, {2, 5}));
    ir::Value* c = graph.add_input("c", type(DType::i16, call.c));
    ir::Value* constant = graph.add_constant("packed", type(DType::i8, {static_cast<std::int64_t>(packed.size())}),
                                             ir::Bytes::of(std::span<const std::int8_t>(packed)));
    const ir::Node* node = graph.add_node("layer", call.op,
                                          {{"input", x},
                                           {"h", h},
                                           {"c", c},
                                           {"packed", constant},
                                           {"scratch", graph.add_scratch("scratch", call.scratch)}},
                                          {type(call.y, call.states), type(DType::i16, {2, 5})});
    graph.add_output(node->results[0]);
    graph.add_output(node->results[1]);
    HostProgram program(conformance::program_of(graph), host_kernels());
  };
  const auto sound = [](Header&) {};
  EXPECT_NO_THROW(load(sound));
  EXPECT_THROW(load(sound, {.bytes = 8}), InputError);
  EXPECT_THROW(load(sound, {.bytes = kGeometry.bytes() - 4}), InputError);
  EXPECT_THROW(load(sound, {.scratch = kGeometry.scratch_bytes() - 4}), InputError);
  EXPECT_THROW(load(sound, {.states = {3, 2, 6}}), InputError);
  EXPECT_THROW(load(sound, {.states = {2, 2, 5}}), InputError);
  EXPECT_THROW(load(sound, {.c = {1, 5}}), InputError);
  EXPECT_THROW(load(sound, {.h = DType::i16}), InputError);
  EXPECT_THROW(load([](Header& h) { h.kind = 3; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.kind = 1; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.layout = 1; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.inputs = 0; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.units = 6; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.units = 0xffff; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.left = 32; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.h_shift = 16; }), InputError);
  EXPECT_THROW(load([](Header& h) { h.h_multiplier = -1; }), InputError);

  const Call words{.bytes = kWords.bytes(),
                   .scratch = kWords.scratch_bytes(),
                   .h = DType::i16,
                   .op = "cormorant.recurrent.scalar_words",
                   .x = DType::i16,
                   .y = DType::i16};
  const auto of_words = [](Header& h) { h.layout = static_cast<std::uint8_t>(recurrent::Layout::scalar_words); };
  const auto refused = [&](const auto& change) {
    Call call = words;
    change(call);
    EXPECT_THROW(load(of_words, call), InputError);
  };
  EXPECT_NO_THROW(load(of_words, words));
  EXPECT_THROW(load(sound, words), InputError) << "the constants of 8-bit activations";
  EXPECT_THROW(load([&](Header& h) { of_words(h), h.h_multiplier = -1; }, words), InputError);
  EXPECT_NO_THROW(load([&](Header& h) { of_words(h), h.left = 2; }, words));
  EXPECT_THROW(load([&](Header& h) { of_words(h), h.left = 3; }, words), InputError);
  refused([](Call& call) { call.x = DType::i8; });
  refused([](Call& call) { call.y = DType::i8; });
  refused([](Call& call) { call.h = DType::i8; });
  refused([&](Call& call) { call.scratch = kGeometry.scratch_bytes(); });
  refused([](Call& call) { call.bytes -= 4; });
  refused([](Call& call) { call.op = "cormorant.recurrent.scalar"; });
}

// With an h of its own: a relu's, which has no cell state and no other result, and a projection's.
struct OwnH {
  std::int64_t units = 5, outputs = 3, missing = 0;  // bytes of the constant
  std::optional<ir::Shape> h, c, last, states;
  DType x = DType::i8, y = DType::i8, h_type = DType::i8, last_type = DType::i16;
  bool words = false;
  std::int64_t less_scratch = 0;
  recurrent::ProjectedHeader header = {{6, 5, 0, 0, 0, 0, 0, 0, 0}, 3, 0};
};

void load_own_h(OwnH call, bool is_relu, bool in_float = false) {
  using recurrent::Layout;
  const Layout layout = call.words ? Layout::scalar_words : Layout::scalar;
  if (call.header.layer.layout == 0) call.header.layer.layout = static_cast<std::uint8_t>(layout);
  if (is_relu && call.header.layer.kind == 0) call.header.layer.kind = 3;
  if (is_relu) call.outputs = call.units;
  const Kind kind = is_relu ? Kind::rnn_relu : Kind::lstm;
  const recurrent::Geometry geometry{kind, layout, 6, 5, is_relu ? 5U : 3U};
  std::size_t size = is_relu ? geometry.bytes() : geometry.projected_bytes();
  std::int64_t scratch = geometry.scratch_bytes();
  if (in_float) {
    size = is_relu ? std::size_t{4 * 5 * (6 + 5 + 2)} : std::size_t{4 * 5 * (4 * (6 + 3 + 2) + 3)};
    scratch = recurrent::float_scratch_bytes(kind, 6, 5, is_relu ? 5 : 3);
    call.x = call.y = call.h_type = call.last_type = DType::f32;
  }
  std::vector<std::int8_t> packed(size - static_cast<std::size_t>(call.missing));
  if (!in_float) std::memcpy(packed.data(), &call.header, std::min(packed.size(), sizeof call.header));
  const auto type = [](DType dtype, ir::Shape shape) {
    return ir::TensorType{.dtype = dtype, .shape = std::move(shape), .dim_order = {}, .quant = {}};
  };
  ir::Graph graph;
  const auto elements = static_cast<std::int64_t>(packed.size());
  std::vector<ir::NamedArgument> arguments = {
      {"input", graph.add_input("x", type(call.x, {3, 2, 6}))},
      {"h", graph.add_input("h", type(call.h_type, call.h.value_or(ir::Shape{2, call.outputs})))}};
  if (!is_relu) {
    const ir::Shape shape = call.c.value_or(ir::Shape{2, 5});
    arguments.push_back({"c", graph.add_input("c", type(call.last_type, shape))});
  }
  const auto of_constant = in_float ? type(DType::f32, {elements / 4}) : type(DType::i8, {elements});
  arguments.push_back(
      {"packed", graph.add_constant("packed", of_constant, ir::Bytes::of(std::span<const std::int8_t>(packed)))});
  if (in_float && !is_relu) arguments.push_back({"kind", std::int64_t{call.header.layer.kind}});
  if (in_float) arguments.push_back({"backwards", false});
  arguments.push_back({"scratch", graph.add_scratch("scratch", scratch - call.less_scratch)});
  std::vector<ir::TensorType> results = {type(call.y, call.states.value_or(ir::Shape{3, 2, call.outputs}))};
  if (!is_relu) results.push_back(type(call.last_type, call.last.value_or(ir::Shape{2, 5})));
  const std::string name = std::string("cormorant.recurrent.") +
                           (in_float     ? "float"
                            : call.words ? "scalar_words"
                                         : "scalar") +
                           (is_relu ? "_relu" : "_projected");
  const ir::Node* node = graph.add_node("layer", name, std::move(arguments), std::move(results));
  for (ir::Value* result : node->results) graph.add_output(result);
  HostProgram program(conformance::program_of(graph), host_kernels());
}

TEST(RecurrentLoad, RefusesAnHOfItsOwnThatDoesNotFit) {
  const auto of_words = [](OwnH call) {
    call.words = true;
    call.x = call.y = call.h_type = DType::i16;
    return call;
  };
  for (const bool is_relu : {false, true}) {
    SCOPED_TRACE(is_relu ? "relu" : "projection");
    const auto refused = [&](const auto& change) {
      OwnH call;
      change(call);
      EXPECT_THROW(load_own_h(call, is_relu), InputError);
      EXPECT_THROW(load_own_h(of_words(call), is_relu), InputError) << "words";
    };
    const auto refused_in_float = [&](const auto& change) {
      OwnH call;
      change(call);
      EXPECT_THROW(load_own_h(call, is_relu, true), InputError) << "float";
      refused(change);
    };
    EXPECT_NO_THROW(load_own_h({}, is_relu));
    EXPECT_NO_THROW(load_own_h(of_words({}), is_relu));
    EXPECT_NO_THROW(load_own_h({}, is_relu, true));
    refused_in_float([](OwnH& call) { call.missing = 4; });
    refused_in_float([](OwnH& call) { call.missing = -4; });
    refused_in_float([](OwnH& call) { call.less_scratch = 4; });
    refused_in_float([](OwnH& call) { call.h = ir::Shape{2, 4}; });
    refused_in_float([](OwnH& call) { call.h = ir::Shape{1, call.outputs}; });
    refused_in_float([](OwnH& call) { call.states = ir::Shape{3, 2, 4}; });
    refused_in_float([](OwnH& call) { call.states = ir::Shape{2, 2, call.outputs}; });
    refused([](OwnH& call) { call.header.layer.kind = 1; });
    refused([](OwnH& call) { call.header.layer.kind = 4; });
    refused([](OwnH& call) { call.header.layer.layout = 1; });
    refused([](OwnH& call) { call.header.layer.inputs = 0; });
    refused([](OwnH& call) { call.header.layer.inputs = 7; });
    refused([](OwnH& call) { call.header.layer.units = 0; });
    refused([](OwnH& call) { call.header.layer.units = 6; });
    refused([](OwnH& call) { call.header.layer.left = 32; });
    OwnH finest = of_words({});
    finest.header.layer.left = 2;
    EXPECT_NO_THROW(load_own_h(finest, is_relu));
    finest.header.layer.left = 3;
    EXPECT_THROW(load_own_h(finest, is_relu), InputError);
    OwnH call;
    call.h_type = DType::i16;
    EXPECT_THROW(load_own_h(call, is_relu), InputError);
    call = of_words({});
    call.x = DType::i8;
    EXPECT_THROW(load_own_h(call, is_relu), InputError);
    call = of_words({});
    call.y = DType::i8;
    EXPECT_THROW(load_own_h(call, is_relu), InputError);
    if (is_relu) continue;
    refused_in_float([](OwnH& c) { c.c = ir::Shape{2, 3}; });
    refused_in_float([](OwnH& c) { c.last = ir::Shape{2, 3}; });
    refused_in_float([](OwnH& c) { c.header.layer.kind = 1; });
    refused([](OwnH& c) { c.last_type = DType::i8; });
    refused([](OwnH& c) { c.header.outputs = 0; });
    refused([](OwnH& c) { c.header.outputs = 6; });
    refused([](OwnH& c) { c.header.outputs = 0xffff; });
  }
}

TEST(RecurrentLayout, EveryWeightHasAPlaceOfItsOwn) {
  using recurrent::Layout;
  for (const Layout layout : {Layout::scalar, Layout::dsp_pairs, Layout::dsp_wide, Layout::mve, Layout::scalar_words,
                              Layout::dsp_words, Layout::mve_words}) {
    for (const Kind kind : {Kind::lstm, Kind::gru, Kind::rnn}) {
      const recurrent::Geometry geometry{kind, layout, 19, 7};
      for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
        const recurrent::Block block = geometry.block(k);
        std::vector<int> used(geometry.weight_bytes(block));
        for (std::uint32_t n = 0; n < recurrent::group_of(layout); ++n) {
          for (std::uint32_t i = 0; i < block.length; ++i) ++used.at(geometry.weight_index(block, n, i));
        }
        for (const int count : used) ASSERT_LE(count, 1);
      }
    }
  }
}

}  // namespace
}  // namespace cormorant::ops
