// SPDX-License-Identifier: Apache-2.0
//
// Two kinds of test for an operator, each ten lines for a contributor.
//
// *Dialect*: what the compiler turns a node into, and that the result is correct. Needs no cross compiler and no board.
//
//   TEST(Clamp, BecomesOneOperator) {
//     expect_dialect(relu6_case(), {.before = {{"aten.clamp", 1}}, .after = {{"cormorant.clamp.mve", 1}}, .steps =
//     0.5},
//                    parse_target("cortex-m55"));
//   }
//
// *Implementation*: every kernel variant matches its reference bit for bit. Write the cases as quantized nodes, and
// each goes through lowering, layout, prepacking, planning and emission for every CPU and instruction set, runs in the
// host runtime and on the emulated boards, and must produce the same bits.
//
// ctest runs the first kind as dialect_<op> (label "dialect"), the second as op_<op> (label "operator"): the variable
// CORMORANT_CONFORMANCE says which; without it a test executable does both.
//
//   TEST(Clamp, EveryVariantEqualsTheReference) {
//     std::vector<Case> cases;
//     for (int size : {1, 3, 4, 17}) {
//       cases.push_back({"size " + std::to_string(size), [=](ir::Graph& g) {
//         ir::Value* x = int8_input(g, {1, size}, 0.1, 3);
//         return add_quantized(g, "aten.clamp", {{"self", x}, {"min", 0.0}, {"max", 6.0}}, {1, size}, 0.1, 3);
//       }});
//     }
//     expect_same_bits_everywhere(cases);
//   }
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "memory/map.h"
#include "ops/op.h"
#include "target/target.h"

namespace cormorant::conformance {

// Adds inputs and nodes to the graph and returns the value to compare. All cases of a test share one graph.
struct Case {
  std::string name;
  std::function<ir::Value*(ir::Graph&)> build;
};

struct Where {
  Target target;
  std::string compiler;                    // "gcc", "clang"
  [[nodiscard]] std::string text() const;  // "cortex-m55 dsp balanced gcc"
};

// The archives whose code differs, gcc, and clang where its code differs most; in `./dev check` every archive in every
// instruction set that it can execute.
std::vector<Where> everywhere();

// Runs the cases on `samples` sets of random inputs (seeded; the first has only the extremes −128 and 127) at each
// place and expects the bits of the first place's host run from all of them.
void expect_same_bits_everywhere(const std::vector<Case>& cases, int samples = 3,
                                 const std::vector<Where>& places = everywhere());

// The first of the cases on a Cortex-M3 and M4 with --optimize=size, which everywhere() leaves out.
void expect_same_bits_where_flash_is_saved(std::vector<Case> cases);

// Builders for cases.
ir::Value* int8_input(ir::Graph& graph, ir::Shape shape, double scale, std::int32_t zero_point);
ir::Value* float_input(ir::Graph& graph, ir::Shape shape);
// Activations of 16 bits: symmetric.
ir::Value* words_input(ir::Graph& graph, ir::Shape shape, double scale);
ir::Value* add_words(ir::Graph& graph, std::string op, std::vector<ir::NamedArgument> args, ir::Shape shape,
                     double scale);
ir::Value* int8_weights(ir::Graph& graph, ir::Shape shape, std::int32_t axis, std::mt19937& random,
                        std::vector<double> scales = {});  // per channel along axis, in [-127, 127]
ir::Value* int32_bias(ir::Graph& graph, const ir::Value* input, const ir::Value* weights, std::mt19937& random,
                      std::int32_t magnitude = 10000);
ir::Value* add_quantized(ir::Graph& graph, std::string op, std::vector<ir::NamedArgument> args, ir::Shape shape,
                         double scale, std::int32_t zero_point);

// The float semantics of the same cases: the operator's evaluate hook on dequantized inputs, against the host run of
// the compiled program, dequantized. Expects them within `steps` quantization steps of the output.
void expect_near_float_semantics(const std::vector<Case>& cases, double steps = 1.0, int samples = 3,
                                 const ops::Config& config = {});

// The same for cases in float: each element within `relative` of its own size and the mean size of its tensor together.
void expect_near_evaluation(const std::vector<Case>& cases, double relative = 1e-5, int samples = 3);

// Adds a canonical node in float, whose result's type follows from its arguments.
ir::Value* add_float(ir::Graph& graph, std::string op, std::vector<ir::NamedArgument> args);
ir::Value* float_constant(ir::Graph& graph, ir::Shape shape, std::mt19937& random);

// Which operators are in the graph before lowering and after it, aliases aside, and how far the result may be from the
// float semantics, in quantization steps. A name that is not given must not be there.
struct Dialect {
  std::map<std::string, int> before, after;
  double steps = 1.0;
};
void expect_dialect(const Case& c, const Dialect& expected, const Target& target = {});

// Which operators a case becomes: {"cortex_m.quantized_add", 1}, after lowering (before prepack). Needs no cross
// compiler.
std::vector<std::pair<std::string, int>> lowered_operators(const Case& c, const Target& target = {});

// Imports a call as the compiler does: omitted arguments have the schema's default. All results have that shape.
std::vector<ir::Value*> import_call(ir::Graph& graph, std::string_view target,
                                    const std::vector<ir::NamedArgument>& given, const ir::Shape& shape,
                                    std::size_t results = 1);
// The same on the input `self`, in a graph of its own.
struct Import {
  ir::Graph graph;
  std::vector<std::string> operators;
  std::vector<ir::Value*> results;
};
Import import_call(std::string_view target, const ir::Shape& input, const ir::Shape& output,
                   const std::vector<ir::NamedArgument>& given);

// The program of a lowered graph, for our own runtime.
std::vector<std::byte> program_of(const ir::Graph& graph, memory::Reuse reuse = memory::Reuse::all);

// Whether the runtime accepts a graph of program operators as it is, whatever a file may declare.
bool loads(const ir::Graph& graph);
// The same of one operator on the input `self`.
bool loads(const std::string& op, const ir::TensorType& in, std::vector<ir::NamedArgument> args,
           const ir::TensorType& out);

}  // namespace cormorant::conformance
