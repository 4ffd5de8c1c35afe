// SPDX-License-Identifier: Apache-2.0
//
// Tensors that a model creates from nothing: each becomes a constant like any other. The export records their shape and
// type.
#include <cmath>
#include <functional>
#include <numbers>

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

std::vector<ir::Value*> import_logspace(Importer& importer) {
  const Build b(importer);
  const double start = b.call().number("start"), end = b.call().number("end"), base = b.call().number("base");
  b.require_moderate(b.type());
  std::vector<double> values(static_cast<std::size_t>(b.type().elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double part = values.size() < 2 ? 0 : static_cast<double>(i) / static_cast<double>(values.size() - 1);
    values[i] = std::pow(base, start + (end - start) * part);
  }
  return {b.constant(b.type().dtype, b.type().shape, values)};
}

// Rows and columns of a triangle's elements.
std::vector<ir::Value*> triangle_indices(Importer& importer, bool lower) {
  const Build b(importer);
  const std::int64_t rows = b.call().integer("row"), columns = b.call().integer("col");
  const std::int64_t offset = b.call().integer("offset");
  b.require(rows >= 0 && columns >= 0);
  b.require_moderate({DType::i64, {rows, columns}, {}, std::nullopt});
  std::vector<double> first, second;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (lower ? j - i > offset : j - i < offset) continue;
      first.push_back(static_cast<double>(i));
      second.push_back(static_cast<double>(j));
    }
  }
  b.require(b.type().shape == ir::Shape({2, static_cast<std::int64_t>(first.size())}));
  first.insert(first.end(), second.begin(), second.end());
  return {b.constant(b.type().dtype, b.type().shape, first)};
}
std::vector<ir::Value*> import_tril_indices(Importer& importer) { return triangle_indices(importer, true); }
std::vector<ir::Value*> import_triu_indices(Importer& importer) { return triangle_indices(importer, false); }

// A window of signal processing: a function of the place, from 0 to 1. A periodic one is as if it had one more element.
std::vector<ir::Value*> window(Importer& importer, const std::function<double(double)>& at) {
  const Build b(importer);
  b.require_moderate(b.type());
  const bool is_periodic = !b.given("periodic") || b.call().boolean("periodic");
  std::vector<double> values(static_cast<std::size_t>(b.type().elements()), 1);
  const double last = static_cast<double>(values.size()) - (is_periodic ? 0 : 1);
  for (std::size_t i = 0; i < values.size() && values.size() > 1; ++i) values[i] = at(static_cast<double>(i) / last);
  return {b.constant(b.type().dtype, b.type().shape, values)};
}
double cosine(double place) { return std::cos(2 * std::numbers::pi * place); }
std::vector<ir::Value*> import_hann(Importer& importer) {
  return window(importer, [](double x) { return 0.5 - 0.5 * cosine(x); });
}
std::vector<ir::Value*> import_hamming(Importer& importer) {
  const Build b(importer);
  const double alpha = b.given("alpha") ? b.call().number("alpha") : 0.54;
  const double beta = b.given("beta") ? b.call().number("beta") : 0.46;
  return window(importer, [=](double x) { return alpha - beta * cosine(x); });
}
std::vector<ir::Value*> import_blackman(Importer& importer) {
  return window(importer, [](double x) { return 0.42 - 0.5 * cosine(x) + 0.08 * cosine(2 * x); });
}
std::vector<ir::Value*> import_bartlett(Importer& importer) {
  return window(importer, [](double x) { return 1 - std::abs(2 * x - 1); });
}
std::vector<ir::Value*> import_kaiser(Importer& importer) {
  const Build b(importer);
  const double beta = b.given("beta") ? b.call().number("beta") : 12;
  b.require(beta >= 0 && beta < 700);  // whose Bessel function is a number
  return window(importer, [=](double x) {
    const double inside = std::max(1 - (2 * x - 1) * (2 * x - 1), 0.0);
    return std::cyl_bessel_i(0.0, beta * std::sqrt(inside)) / std::cyl_bessel_i(0.0, beta);
  });
}

#define OPTIONS "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LIKE_OPTIONS OPTIONS ", MemoryFormat? memory_format=None"
#define INDEX_OPTIONS "*, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"

}  // namespace

Operator constant_operator() {
  return {
      .name = "constant",
      .limits = "known when the model is exported",
      .forms = {
          {"zeros.default(SymInt[] size, " OPTIONS ")", import_zeros},
          {"ones.default(SymInt[] size, " OPTIONS ")", import_ones},
          {"full.default(SymInt[] size, Scalar fill_value, " OPTIONS ")", import_full},
          {"zeros_like.default(Tensor self, " LIKE_OPTIONS ")", import_zeros},
          {"ones_like.default(Tensor self, " LIKE_OPTIONS ")", import_ones},
          {"full_like.default(Tensor self, Scalar fill_value, " LIKE_OPTIONS ")", import_full},
          {"new_zeros.default(Tensor self, SymInt[] size, " OPTIONS ")", import_zeros},
          {"new_ones.default(Tensor self, SymInt[] size, " OPTIONS ")", import_ones},
          {"new_full.default(Tensor self, SymInt[] size, Scalar fill_value, " OPTIONS ")", import_full},
          // Memory of no particular contents, which a model writes before it reads it.
          {"empty.memory_format(SymInt[] size, " LIKE_OPTIONS ")", import_zeros},
          {"empty_like.default(Tensor self, " LIKE_OPTIONS ")", import_zeros},
          {"empty_permuted.default(SymInt[] size, int[] physical_layout, " OPTIONS ")", import_zeros},
          {"empty_strided.default(SymInt[] size, SymInt[] stride, " OPTIONS ")", import_zeros},
          {"new_empty.default(Tensor self, SymInt[] size, " OPTIONS ")", import_zeros},
          {"new_empty_strided.default(Tensor self, SymInt[] size, SymInt[] stride, " OPTIONS ")", import_zeros},
          {"logspace.default(Scalar start, Scalar end, int steps, float base=10., " OPTIONS ")", import_logspace},
          {"tril_indices.default(int row, int col, int offset=0, " INDEX_OPTIONS ")", import_tril_indices},
          {"triu_indices.default(int row, int col, int offset=0, " INDEX_OPTIONS ")", import_triu_indices},
          {"hann_window.default(int window_length, " OPTIONS ")", import_hann},
          {"hann_window.periodic(int window_length, bool periodic, " OPTIONS ")", import_hann},
          {"hamming_window.default(int window_length, " OPTIONS ")", import_hamming},
          {"hamming_window.periodic(int window_length, bool periodic, " OPTIONS ")", import_hamming},
          {"hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, " OPTIONS ")", import_hamming},
          {"hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, " OPTIONS ")",
           import_hamming},
          {"blackman_window.default(int window_length, " OPTIONS ")", import_blackman},
          {"blackman_window.periodic(int window_length, bool periodic, " OPTIONS ")", import_blackman},
          {"bartlett_window.default(int window_length, " OPTIONS ")", import_bartlett},
          {"bartlett_window.periodic(int window_length, bool periodic, " OPTIONS ")", import_bartlett},
          {"kaiser_window.default(int window_length, " OPTIONS ")", import_kaiser},
          {"kaiser_window.periodic(int window_length, bool periodic, " OPTIONS ")", import_kaiser},
          {"kaiser_window.beta(int window_length, bool periodic, float beta, " OPTIONS ")", import_kaiser},
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
#undef INDEX_OPTIONS

}  // namespace cormorant::ops
