// SPDX-License-Identifier: Apache-2.0
//
// A signature is written once, as a struct template over a "world" in the operator's header:
//
//   template <class W>
//   struct QuantizedMul {
//     typename W::Tensor self;
//     typename W::Int self_zero_point;
//     ...
//     typename W::Out out;
//     CORMORANT_FIELDS(self, self_zero_point, ..., out)
//   };
//
// In the TargetWorld (runtime/kernel.h) its fields are tensors and integers that the loader reads from a .pte; in the
// HostWorld here they are values of the graph. Graph nodes, schema strings and argument checks all derive from visit().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "ir/graph.h"

namespace cormorant::ops {

struct HostWorld {
  struct Out {};  // a node's result, not an argument
  using Tensor = ir::Value*;
  struct OptionalTensor {
    ir::Value* value = nullptr;
  };
  struct Scratch {  // bytes when a node is made, the value once it exists
    std::int64_t bytes = 0;
    ir::Value* value = nullptr;
  };
  using Int = std::int64_t;
  using Float = double;
  using Bool = bool;
  using IntList = std::vector<std::int64_t>;
  using IntPair = IntList;
  using OptionalInt = std::optional<std::int64_t>;
  using OptionalIntList = std::optional<std::vector<std::int64_t>>;
  using TensorList = std::vector<ir::Value*>;
  using ScalarType = DType;
  struct Scalar {
    double value = 0;
  };
  struct OptionalScalar {
    std::optional<double> value;
  };
  using String = std::string;
};

// "cortex_m::quantized_mul.out" -> "cortex_m.quantized_mul" (the graph omits the overload "out", others stay:
// "cormorant::conv2d.mve_1x1" -> "cormorant.conv2d.mve_1x1"), and back.
std::string graph_name(std::string_view program_name);
std::string program_name(std::string_view graph_name);

// "cortex_m::quantized_mul(Tensor self, int self_zero_point, ...) -> Tensor", as PyTorch writes schemas.
struct Parameter {
  // "Tensor", "Tensor?", "Tensor[]", "int", "int?", "int[]", "int[]?", "float", "bool", "ScalarType", "Scalar",
  // "Scalar?", "str"; "scratch" for Scratch
  std::string type;
  std::string name;
};
struct Signature {
  std::string name;                   // program name: "cortex_m::quantized_mul.out"
  std::vector<Parameter> parameters;  // without outs
  std::size_t outs = 0;
  [[nodiscard]] std::string text() const;
};

template <template <class> class S>
Signature signature_of(std::string name) {
  Signature signature{std::move(name), {}, 0};
  S<HostWorld> fields{};
  fields.visit([&]<class F>(const char* field_name, F&) {
    using H = HostWorld;
    if constexpr (std::is_same_v<F, H::Out>) {
      ++signature.outs;
    } else {
      const char* type = std::is_same_v<F, H::Tensor>            ? "Tensor"
                         : std::is_same_v<F, H::OptionalTensor>  ? "Tensor?"
                         : std::is_same_v<F, H::Scratch>         ? "scratch"
                         : std::is_same_v<F, H::Int>             ? "int"
                         : std::is_same_v<F, H::Float>           ? "float"
                         : std::is_same_v<F, H::Bool>            ? "bool"
                         : std::is_same_v<F, H::IntList>         ? "int[]"
                         : std::is_same_v<F, H::OptionalInt>     ? "int?"
                         : std::is_same_v<F, H::OptionalIntList> ? "int[]?"
                         : std::is_same_v<F, H::TensorList>      ? "Tensor[]"
                         : std::is_same_v<F, H::Scalar>          ? "Scalar"
                         : std::is_same_v<F, H::OptionalScalar>  ? "Scalar?"
                         : std::is_same_v<F, H::String>          ? "str"
                                                                 : "ScalarType";
      signature.parameters.push_back({type, field_name});
    }
  });
  return signature;
}

// Makes a node out of a filled-in signature, before `before`; scratch values are created at their final size.
template <class S>
ir::Node* make_node(ir::Graph& graph, S fields, std::vector<ir::TensorType> results, std::string node_name,
                    ir::Location location, ir::Node* before, std::string_view op) {
  std::vector<ir::NamedArgument> args;
  fields.visit([&]<class F>(const char* name, F& field) {
    using H = HostWorld;
    if constexpr (std::is_same_v<F, H::Out>) {
    } else if constexpr (std::is_same_v<F, H::OptionalTensor>) {
      args.push_back({name, field.value == nullptr ? ir::Argument{} : ir::Argument{field.value}});
    } else if constexpr (std::is_same_v<F, H::Scratch>) {
      if (field.value == nullptr) field.value = graph.add_scratch(node_name + "_" + name, field.bytes);
      args.push_back({name, field.value});
    } else if constexpr (std::is_same_v<F, H::OptionalInt> || std::is_same_v<F, H::OptionalIntList>) {
      args.push_back({name, field ? ir::Argument{*field} : ir::Argument{}});
    } else if constexpr (std::is_same_v<F, H::Scalar>) {
      args.push_back({name, field.value});
    } else if constexpr (std::is_same_v<F, H::OptionalScalar>) {
      args.push_back({name, field.value ? ir::Argument{*field.value} : ir::Argument{}});
    } else {
      args.push_back({name, ir::Argument{field}});
    }
  });
  return graph.add_node(std::move(node_name), graph_name(op), std::move(args), std::move(results), std::move(location),
                        before);
}

// The other way: a node's arguments as the struct.
template <class S>
S read_node(const ir::Node& node) {
  S fields{};
  fields.visit([&]<class F>(const char* name, F& field) {
    using H = HostWorld;
    if constexpr (std::is_same_v<F, H::Out>) {
    } else if constexpr (std::is_same_v<F, H::OptionalTensor>) {
      field.value = node.tensor(name);
    } else if constexpr (std::is_same_v<F, H::Scratch>) {
      field.value = node.tensor(name);
      field.bytes = field.value == nullptr ? 0 : field.value->type.bytes();
    } else if constexpr (std::is_same_v<F, H::OptionalInt> || std::is_same_v<F, H::OptionalIntList>) {
      if (node.has(name)) field = std::get<typename F::value_type>(node.get(name));
    } else if constexpr (std::is_same_v<F, H::Scalar> || std::is_same_v<F, H::OptionalScalar>) {
      if (node.has(name)) field.value = node.number(name);
    } else {
      field = std::get<F>(node.get(name));
    }
  });
  return fields;
}

}  // namespace cormorant::ops
