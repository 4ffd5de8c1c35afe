// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ops/host/schema.h"
#include "ops/op.h"

namespace cormorant::ops {

Operator identity_operator();

namespace {

struct Outcome {
  ir::Graph graph;
  ir::Value* input = nullptr;
  ir::Value* result = nullptr;
};

Outcome import_form(const AtenForm& form, bool train, DType to) {
  Outcome outcome;
  outcome.input = outcome.graph.add_input("x", ir::float_type({2, 3}));
  ir::Node call;
  call.name = "call";
  for (const SchemaArgument& argument : parse_schema(form.schema).arguments) {
    ir::Argument value = argument.fallback.value_or(ir::None{});
    if (argument.type == "Tensor") value = outcome.input;
    if (argument.name == "p") value = 0.5;
    if (argument.name == "train") value = train;
    call.args.push_back({argument.name, value});
  }
  Importer importer{&outcome.graph, &call, {ir::TensorType{to, {2, 3}, {}, {}}}};
  const std::vector<ir::Value*> results = form.import(importer);
  outcome.result = results.empty() ? nullptr : results.front();
  return outcome;
}

TEST(Identity, EverySpellingIsItsInputAtInference) {
  for (const AtenForm& form : identity_operator().forms) {
    const Outcome outcome = import_form(form, false, DType::f32);
    const bool is_check = form.schema.starts_with("_assert");
    EXPECT_EQ(outcome.result, is_check ? nullptr : outcome.input) << form.schema;
    EXPECT_TRUE(outcome.graph.nodes().empty()) << form.schema;
  }
}

TEST(Identity, DropoutInTrainingModeIsRejected) {
  for (const AtenForm& form : identity_operator().forms) {
    if (form.schema.find("dropout") == std::string_view::npos) continue;
    EXPECT_THROW(import_form(form, true, DType::f32), InputError) << form.schema;
  }
}

TEST(Identity, BitsOfAnotherTypeAreRejected) {
  for (const AtenForm& form : identity_operator().forms) {
    if (!form.schema.starts_with("view.dtype")) continue;
    EXPECT_THROW(import_form(form, false, DType::i32), InputError) << form.schema;
  }
}

}  // namespace
}  // namespace cormorant::ops
