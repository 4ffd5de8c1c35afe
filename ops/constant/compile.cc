// SPDX-License-Identifier: Apache-2.0
//
// Tensors that a model creates from nothing: each becomes a constant like any other. The export records their shape and
// type.

#include "ops/host/build.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

std::vector<ir::Value*> fill(Importer& importer, double value) {
  const Build b(importer);
  return {b.filled(value, b.type())};
}

std::vector<ir::Value*> import_zeros(Importer& importer) { return fill(importer, 0); }
std::vector<ir::Value*> import_ones(Importer& importer) { return fill(importer, 1); }
std::vector<ir::Value*> import_number(Importer& importer, const char* argument) {
  const Build b(importer);
  return {b.filled(b.numbers_of(b.operand(argument, b.type().dtype)).value().front(), b.type())};
}
std::vector<ir::Value*> import_full(Importer& importer) { return import_number(importer, "fill_value"); }
std::vector<ir::Value*> import_fill(Importer& importer) { return import_number(importer, "value"); }
std::vector<ir::Value*> import_scalar(Importer& importer) { return fill(importer, importer.call->number("s")); }

std::vector<ir::Value*> import_arange(Importer& importer) {
  const ir::Node& call = *importer.call;
  const double start = call.has("start") ? call.number("start") : 0;
  const double step = call.has("step") ? call.number("step") : 1;
  const Build b(importer);
  b.require_moderate(b.type());
  std::vector<double> values(static_cast<std::size_t>(b.type().elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
  return {b.constant(b.type().dtype, b.type().shape, values)};
}

#define OPTIONS "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LIKE_OPTIONS OPTIONS ", MemoryFormat? memory_format=None"

}  // namespace

Operator constant_operator() {
  return {.name = "constant",
          .limits = "known when the model is exported",
          .forms = {{"zeros.default(SymInt[] size, " OPTIONS ")", import_zeros},
                    {"ones.default(SymInt[] size, " OPTIONS ")", import_ones},
                    {"full.default(SymInt[] size, Scalar fill_value, " OPTIONS ")", import_full},
                    {"zeros_like.default(Tensor self, " LIKE_OPTIONS ")", import_zeros},
                    {"ones_like.default(Tensor self, " LIKE_OPTIONS ")", import_ones},
                    {"full_like.default(Tensor self, Scalar fill_value, " LIKE_OPTIONS ")", import_full},
                    {"new_zeros.default(Tensor self, SymInt[] size, " OPTIONS ")", import_zeros},
                    {"new_ones.default(Tensor self, SymInt[] size, " OPTIONS ")", import_ones},
                    {"new_full.default(Tensor self, SymInt[] size, Scalar fill_value, " OPTIONS ")", import_full},
                    {"fill.Scalar(Tensor self, Scalar value)", import_fill},
                    {"fill_.Scalar(Tensor(a!) self, Scalar value)", import_fill},
                    {"zero.default(Tensor self)", import_zeros},
                    {"zero_.default(Tensor(a!) self)", import_zeros},
                    {"scalar_tensor.default(Scalar s, " OPTIONS ")", import_scalar},
                    {"arange.default(Scalar end, " OPTIONS ")", import_arange},
                    {"arange.start(Scalar start, Scalar end, " OPTIONS ")", import_arange},
                    {"arange.start_step(Scalar start, Scalar end, Scalar step=1, " OPTIONS ")", import_arange}}};
}

#undef OPTIONS
#undef LIKE_OPTIONS

}  // namespace cormorant::ops
