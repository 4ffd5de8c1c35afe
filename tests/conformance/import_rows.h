// SPDX-License-Identifier: Apache-2.0
//
// Forms that only move data, against PyTorch: a row gives a call on tensors that count 0, 1, 2, … (the second continues
// where the first ends) and PyTorch 2.15's result. The call is imported and evaluated in float.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "evaluate/graph.h"
#include "ops/host/schema.h"
#include "ops/op.h"

namespace cormorant::conformance {

struct ImportRow {
  std::string target;                   // "aten.slice.Tensor"
  std::vector<ir::Shape> inputs;        // of the call's tensors, in order; a list takes all
  std::vector<ir::NamedArgument> args;  // the others; defaults may be omitted
  struct Result {
    ir::Shape shape;
    std::vector<float> values;
  };
  std::vector<Result> results;
};

inline void expect_as_pytorch(const ops::Operator& op, const ImportRow& row) {
  std::string text = row.target;
  for (const ir::Shape& shape : row.inputs) {
    text += " [";
    for (const std::int64_t size : shape) text += " " + std::to_string(size);
    text += " ]";
  }
  SCOPED_TRACE(text);
  const auto form = std::ranges::find_if(op.forms, [&](const ops::AtenForm& candidate) {
    return ops::parse_schema(candidate.schema).target() == row.target;
  });
  ASSERT_NE(form, op.forms.end());
  ir::Graph graph;
  std::vector<evaluate::Tensor> tensors;
  float next = 0;
  for (const ir::Shape& shape : row.inputs) {
    graph.add_input("x", ir::float_type(shape));
    std::vector<float> values(static_cast<std::size_t>(ir::float_type(shape).elements()));
    std::iota(values.begin(), values.end(), next);
    next += static_cast<float>(values.size());
    tensors.emplace_back(shape, std::move(values));
  }
  ir::Node call;
  call.name = "call";
  call.op = row.target;
  std::size_t used = 0;
  for (const ops::SchemaArgument& argument : ops::parse_schema(form->schema).arguments) {
    ir::Argument value = argument.fallback.value_or(ir::None{});
    if (argument.type == "Tensor") value = graph.inputs().at(used++);
    if (argument.type == "Tensor[]") value = graph.inputs();
    for (const ir::NamedArgument& given : row.args) {
      if (given.name == argument.name) value = given.value;
    }
    call.args.push_back({argument.name, value});
  }
  ops::Importer importer;
  importer.graph = &graph;
  importer.call = &call;
  for (const auto& result : row.results) importer.types.push_back(ir::float_type(result.shape));
  const std::vector<ir::Value*> results = form->import(importer);
  ASSERT_EQ(results.size(), row.results.size());
  for (ir::Value* result : results) graph.add_output(result);
  for (const ir::Node& node : graph.nodes()) {  // shape inference agrees with the importer
    EXPECT_EQ(ops::find(node)->infer(node).front(), node.result()->type) << node.op;
  }
  const std::vector<evaluate::Tensor> got = evaluate::evaluate_graph(graph, tensors);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(results[i]->type.shape, row.results[i].shape);
    EXPECT_EQ(got[i].shape, row.results[i].shape);
    EXPECT_EQ(std::vector<float>(got[i].values().begin(), got[i].values().end()), row.results[i].values);
  }
}

}  // namespace cormorant::conformance
