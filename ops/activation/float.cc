// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/float.h"

#include "ops/activation/activation.h"
#include "ops/host/float_form.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace activation {
namespace {

// A function that has a portable operator is that operator already; the others take their parameters by number.
ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* self = node.tensor("self");
  const ir::TensorType& type = node.result()->type;
  const auto number = [&](std::size_t i) { return HostWorld::Scalar{node.number(node.args.at(i).name)}; };
  if (node.op == nodes::cormorant_requantize) return self;  // between floats it is nothing
  if (node.op == "aten.pow")
    return rewriter.emit(Pow<HostWorld>{.self = self, .exponent = number(1)}, type, names::aten_pow_Tensor_Scalar_out)
        ->result();
  if (node.op == nodes::aten_pow_of_base)
    return rewriter.emit(PowOfBase<HostWorld>{.self = number(1), .exponent = self}, type, names::aten_pow_Scalar_out)
        ->result();
  if (find_signature(node.op) != nullptr) return nullptr;
  require_own_runtime(rewriter);
  const std::string name = "cormorant::" + node.op.substr(5) + ".float";  // after "aten."
  const std::size_t parameters = node.args.size() - 1;
  if (parameters == 0) return rewriter.emit(Unary<HostWorld>{.self = self}, type, name)->result();
  if (parameters == 1) return rewriter.emit(Unary1<HostWorld>{.self = self, .a = number(1)}, type, name)->result();
  return rewriter.emit(Unary2<HostWorld>{.self = self, .a = number(1), .b = number(2)}, type, name)->result();
}

}  // namespace
}  // namespace activation

Lower activation_float() { return activation::lower_float; }

}  // namespace cormorant::ops
