// SPDX-License-Identifier: Apache-2.0
//
// Pairs of shapes for the tests of elementwise operators: every kind of broadcast that has loops of its own, and those
// of ExecuTorch's Cortex-M tests.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "ops/host/broadcast.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

struct BroadcastCase {
  ir::Shape self, other;
  // 4-D tensors come out of a view, which leaves them contiguous; otherwise they are channels-last.
  bool contiguous = false;

  [[nodiscard]] std::string text() const {
    const auto list = [](const ir::Shape& shape) {
      std::string all;
      for (const std::int64_t size : shape) all += (all.empty() ? "" : ",") + std::to_string(size);
      return "[" + all + "]";
    };
    return list(self) + " with " + list(other) + (contiguous ? ", contiguous" : "");
  }
  [[nodiscard]] ir::Shape result() const { return broadcast(self, other).value(); }
};

inline std::vector<BroadcastCase> broadcast_cases() {
  std::vector<BroadcastCase> cases = {
      // nothing repeats
      {{}, {}},
      {{10}, {10}},
      {{2, 2, 2}, {2, 2, 2}},
      {{2, 17, 3, 2}, {2, 17, 3, 2}},
      {{2, 2, 2, 2, 2}, {2, 2, 2, 2, 2}},
      // one element for all
      {{1}, {2, 2, 2, 2}},
      {{2, 1, 1, 1}, {1}},
      {{}, {4, 1, 1, 3}},
      {{3, 37}, {}},
      // one element per channel
      {{1, 8, 1, 1}, {1, 8, 5, 5}},
      {{2, 8, 5, 5}, {1, 8, 1, 1}},
      {{1, 17, 1, 1}, {1, 17, 3, 5}},
      {{2, 7, 3, 3}, {2, 7, 1, 1}},
      {{2, 35, 1, 1}, {2, 35, 2, 2}},
      {{3, 1, 1}, {2, 3, 4, 4}},
      // one element per pixel, row, column
      {{2, 7, 3, 3}, {2, 1, 3, 3}},
      {{1, 1, 3, 4}, {2, 5, 3, 4}},
      {{2, 5, 3, 4}, {2, 5, 3, 1}},
      {{2, 5, 1, 4}, {2, 5, 3, 4}},
      {{1, 3, 4, 5}, {5}},
      {{1, 19}, {5, 19}},
      {{33, 1}, {33, 21}},
      {{5}, {2, 3, 5}},
      // both repeat
      {{9, 1}, {1, 9}},
      {{1, 20}, {3, 1}},
      {{2, 1, 2}, {1, 2, 1}},
      {{2, 1, 2, 1}, {1, 2, 1, 2}},
      {{1, 2, 3, 1}, {4, 1, 1, 3}},
      {{2, 3, 1, 2, 5}, {3, 4, 1, 5}},
      {{2, 1, 2, 1, 2, 3}, {1, 3, 1, 2, 1, 3}},
  };
  for (const BroadcastCase& c : std::vector<BroadcastCase>(cases)) {
    if (c.self.size() == 4 && c.other.size() == 4) cases.push_back({c.self, c.other, true});
  }
  return cases;
}

inline std::vector<BroadcastCase> random_broadcast_cases(unsigned seed, int count) {
  std::mt19937 random(seed);
  const auto any = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  std::vector<BroadcastCase> cases;
  for (int i = 0; i < count; ++i) {
    BroadcastCase c;
    const std::int64_t rank = any(1, 6);
    for (std::int64_t d = 0; d < rank; ++d) {
      const std::int64_t size = d + 2 < rank && rank > 4 ? any(1, 3) : any(1, 9);
      const std::int64_t repeats = any(0, 3);
      c.self.push_back(repeats == 1 ? 1 : size);
      c.other.push_back(repeats == 2 ? 1 : size);
    }
    for (ir::Shape* shape : {&c.self, &c.other}) {
      while (!shape->empty() && shape->front() == 1 && any(0, 1) == 1) shape->erase(shape->begin());
    }
    c.contiguous = c.self.size() == 4 && c.other.size() == 4 && any(0, 1) == 1;
    cases.push_back(std::move(c));
  }
  return cases;
}

// An int8 input of that shape; `contiguous` by way of a flat one.
inline ir::Value* broadcast_input(ir::Graph& graph, const ir::Shape& shape, bool contiguous, double scale,
                                  std::int32_t zero_point) {
  if (!contiguous) return conformance::int8_input(graph, shape, scale, zero_point);
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  ir::Value* flat = conformance::int8_input(graph, {elements}, scale, zero_point);
  return conformance::add_quantized(graph, "aten.view", {{"self", flat}, {"size", shape}}, shape, scale, zero_point);
}

// An int8 constant with every byte somewhere.
inline ir::Value* broadcast_constant(ir::Graph& graph, const ir::Shape& shape, double scale, std::int32_t zero_point) {
  ir::TensorType type = ir::quantized_type(shape, ir::per_tensor_i8(scale, zero_point));
  std::vector<std::int8_t> data(static_cast<std::size_t>(type.elements()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::int8_t>(i * 37 + 11);
  return graph.add_constant("c", std::move(type), ir::Bytes::of(std::span<const std::int8_t>(data)));
}

}  // namespace cormorant::ops
