// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's losses, which models compute as scores: how far a reconstruction is from the input, how unlike two vectors
// are.
#include <numbers>

#include "ops/decompose/forms.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

enum class Reduction : std::uint8_t { none, mean, sum };

Reduction reduction_of(const Build& b) {
  const std::int64_t code = b.call().integer("reduction");
  b.require(code >= 0 && code <= 2);
  return static_cast<Reduction>(code);
}

// A loss of each element, as the call reduces it.
Values reduced_loss(const Build& b, V loss) {
  const Dims all = all_dims(loss->type.rank());
  switch (reduction_of(b)) {
    case Reduction::mean:
      return {b.finish(b.mean(loss, all))};
    case Reduction::sum:
      return {b.finish(b.sum(loss, all))};
    default:
      return {b.finish(loss)};
  }
}

V positive_part(const Build& b, V x) { return b.maximum(x, b.number(0)); }
V from_one(const Build& b, V x) { return b.sub(b.number(1), x); }
V negative(const Build& b, V x) { return b.f("neg", x); }
V target_of(const Build& b) { return b.real(b.tensor("target")); }
V difference_of(const Build& b) { return b.sub(b.real(b.tensor("self")), target_of(b)); }

// ---- distances ------------------------------------------------------------------------------------------------------

Values import_mse_loss(Importer& importer) {
  const Build b(importer);
  V difference = difference_of(b);
  return reduced_loss(b, b.mul(difference, difference));
}
Values import_l1_loss(Importer& importer) {
  const Build b(importer);
  return reduced_loss(b, b.f("abs", difference_of(b)));
}
// Square below a distance, linear from there on, times `factor`.
Values round_loss(const Build& b, double limit, double factor) {
  V size = b.f("abs", difference_of(b));
  V square = b.mul(b.mul(size, size), 0.5 * factor);
  V line = b.mul(b.sub(size, 0.5 * limit), limit * factor);
  return reduced_loss(b, b.where(b.lt(size, b.number(limit)), square, line));
}
Values import_smooth_l1_loss(Importer& importer) {
  const Build b(importer);
  const double beta = b.call().number("beta");
  if (beta == 0) return import_l1_loss(importer);
  return round_loss(b, beta, 1 / beta);
}
Values import_huber_loss(Importer& importer) {
  const Build b(importer);
  return round_loss(b, b.call().number("delta"), 1);
}

// ---- of probabilities -----------------------------------------------------------------------------------------------

V weighted(const Build& b, V loss) { return b.given("weight") ? b.mul(loss, b.tensor("weight")) : loss; }

Values import_bce_loss(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  V target = target_of(b);
  constexpr double kLeast = -100;  // PyTorch's logarithm of 0
  const auto limited_log = [&](const char* function, V x) { return b.maximum(b.f(function, x), b.number(kLeast)); };
  V of_others = b.mul(b.sub(target, 1), limited_log("log1p", negative(b, self)));
  V of_target = b.mul(target, limited_log("log", self));
  return reduced_loss(b, weighted(b, b.sub(of_others, of_target)));
}
Values import_bce_loss_with_logits(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  V target = target_of(b);
  V likely = b.f("log_sigmoid", self);
  if (b.given("pos_weight")) {
    V factor = b.add(b.mul(target, b.sub(b.tensor("pos_weight"), 1)), 1);
    likely = b.mul(factor, likely);
  }
  return reduced_loss(b, weighted(b, b.sub(b.mul(from_one(b, target), self), likely)));
}
Values import_kl_div(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  V target = target_of(b);
  if (b.call().boolean("log_target")) {
    return reduced_loss(b, b.mul(b.f("exp", target), b.sub(target, self)));
  }
  V entropy = b.map(nodes::cormorant_xlogy_any, target, target);
  return reduced_loss(b, b.sub(entropy, b.mul(target, self)));
}
Values import_poisson_loss(Importer& importer) {
  const Build b(importer);
  V input = b.real(b.tensor("input"));
  V target = target_of(b);
  V loss = b.call().boolean("log_input")
               ? b.sub(b.f("exp", input), b.mul(target, input))
               : b.sub(input, b.mul(target, b.f("log", b.add(input, b.call().number("eps")))));
  if (b.call().boolean("full")) {  // Stirling's approximation
    V log_target = b.f("log", target);
    V half_log = b.mul(b.f("log", b.mul(target, 2 * std::numbers::pi)), 0.5);
    V stirling = b.add(b.sub(b.mul(target, log_target), target), half_log);
    loss = b.add(loss, b.where(b.gt(target, b.number(1)), stirling, 0.0));
  }
  return reduced_loss(b, loss);
}

// ---- of classes -----------------------------------------------------------------------------------------------------

std::int64_t class_dim(V scores) { return rank_of(scores) == 1 ? 0 : 1; }

// The weight of each class, shaped to multiply scores.
V class_weights(const Build& b, V scores) {
  if (!b.given("weight")) return nullptr;
  ir::Shape shape(scores->type.rank(), 1);
  shape.at(static_cast<std::size_t>(class_dim(scores))) = b.tensor("weight")->type.elements();
  return b.view(b.tensor("weight"), shape);
}

// Of the classes that the target names, by the logarithms of their probabilities.
Values named_class_loss(const Build& b, V logs, double smoothing) {
  const std::int64_t dim = class_dim(logs);
  b.require(rank_of(logs) > 0);
  const auto classes = static_cast<double>(size_at(logs, dim));
  V target = b.tensor("target");
  V index = b.view(target, [&] {
    ir::Shape shape = logs->type.shape;
    shape[static_cast<std::size_t>(dim)] = 1;
    return shape;
  }());
  V ignored = b.eq(index, b.number(b.call().number("ignore_index"), index->type.dtype));
  V picked = negative(b, b.gather(logs, dim, index));
  V weights = class_weights(b, logs);
  V counts = b.filled(1, ir::float_type(index->type.shape));
  if (weights != nullptr) {
    counts = b.gather(b.expand(weights, logs->type.shape), dim, index);
    picked = b.mul(picked, counts);
  }
  if (smoothing != 0) {
    V all = negative(b, b.sum(weights != nullptr ? b.mul(logs, weights) : logs, {dim}));
    picked = b.add(b.mul(picked, 1 - smoothing), b.mul(all, smoothing / classes));
  }
  picked = b.where(ignored, 0.0, picked);
  if (reduction_of(b) != Reduction::mean) return reduced_loss(b, picked);
  const Dims all = all_dims(index->type.rank());
  return {b.finish(b.div(b.sum(picked, all), b.sum(b.where(ignored, 0.0, counts), all)))};
}

Values import_nll_loss(Importer& importer) {
  const Build b(importer);
  return named_class_loss(b, b.real(b.tensor("self")), 0);
}
Values import_cross_entropy(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  b.require(rank_of(self) > 0);
  const std::int64_t dim = class_dim(self);
  const double smoothing = b.call().number("label_smoothing");
  V logs = b.node(nodes::aten_log_softmax, {{"self", self}, {"dim", dim}});
  if (b.tensor("target")->type.dtype != DType::f32) return named_class_loss(b, logs, smoothing);
  V target = b.tensor("target");  // probabilities
  b.require(target->type.shape == self->type.shape);
  if (smoothing != 0) {
    target = b.add(b.mul(target, 1 - smoothing), smoothing / static_cast<double>(size_at(self, dim)));
  }
  V products = b.mul(logs, target);
  if (V weights = class_weights(b, logs)) products = b.mul(products, weights);
  return reduced_loss(b, b.squeeze(negative(b, b.sum(products, {dim})), dim));
}

// ---- of pairs -------------------------------------------------------------------------------------------------------

Values import_soft_margin_loss(Importer& importer) {
  const Build b(importer);
  V product = b.mul(target_of(b), b.real(b.tensor("self")));
  return reduced_loss(b, b.f("log1p", b.f("exp", negative(b, product))));
}
Values import_margin_ranking_loss(Importer& importer) {
  const Build b(importer);
  V order = b.mul(target_of(b), b.sub(b.tensor("input1"), b.tensor("input2")));
  return reduced_loss(b, positive_part(b, b.sub(b.number(b.call().number("margin")), order)));
}
Values import_hinge_embedding_loss(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  V target = target_of(b);
  V apart = positive_part(b, b.sub(b.number(b.call().number("margin")), self));
  V of_different = b.where(b.ne(target, b.number(1)), apart, 0.0);
  return reduced_loss(b, b.add(of_different, b.where(b.ne(target, b.number(-1)), self, 0.0)));
}
Values import_cosine_embedding_loss(Importer& importer) {
  const Build b(importer);
  V x = b.real(b.tensor("input1"));
  V y = b.real(b.tensor("input2"));
  V target = target_of(b);
  const std::int64_t dim = rank_of(target) == 0 ? 0 : 1;
  constexpr double kLeast = 1e-12;  // PyTorch's, so that no length is 0
  const auto sum = [&](V a, V c) {
    V product = b.mul(a, c);
    b.require(dim < rank_of(product));
    return b.squeeze(b.sum(product, {dim}), dim);
  };
  V lengths = b.f("sqrt", b.mul(b.add(sum(x, x), kLeast), b.add(sum(y, y), kLeast)));
  V cosines = b.div(sum(x, y), lengths);
  V unlike = positive_part(b, b.sub(cosines, b.call().number("margin")));
  V of_same = b.where(b.eq(target, b.number(1)), from_one(b, cosines), 0.0);
  return reduced_loss(b, b.add(of_same, b.where(b.eq(target, b.number(-1)), unlike, 0.0)));
}
Values import_triplet_loss(Importer& importer) {
  const Build b(importer);
  const auto distance = [&](V x, V y) {
    V difference = b.add(b.sub(x, y), b.call().number("eps"));
    const std::int64_t dim = rank_of(difference) - 1;
    return b.squeeze(norm(b, difference, b.call().number("p"), {dim}), dim);
  };
  V anchor = b.real(b.tensor("anchor"));
  V same = b.real(b.tensor("positive"));
  V other = b.real(b.tensor("negative"));
  V near = distance(anchor, same);
  V far = distance(anchor, other);
  if (b.call().boolean("swap")) far = b.minimum(far, distance(same, other));
  return reduced_loss(b, positive_part(b, b.sub(b.add(near, b.call().number("margin")), far)));
}

}  // namespace

std::vector<AtenForm> loss_forms() {
  return {
      {"mse_loss.default(Tensor self, Tensor target, int reduction=1)", import_mse_loss},
      {"l1_loss.default(Tensor self, Tensor target, int reduction=1)", import_l1_loss},
      {"smooth_l1_loss.default(Tensor self, Tensor target, int reduction=1, float beta=1.)", import_smooth_l1_loss},
      {"huber_loss.default(Tensor self, Tensor target, int reduction=1, float delta=1.)", import_huber_loss},
      {"binary_cross_entropy.default(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
       import_bce_loss},
      {"binary_cross_entropy_with_logits.default(Tensor self, Tensor target, Tensor? weight=None, "
       "Tensor? pos_weight=None, int reduction=1)",
       import_bce_loss_with_logits},
      {"kl_div.default(Tensor self, Tensor target, int reduction=1, *, bool log_target=False)", import_kl_div},
      {"poisson_nll_loss.default(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction)",
       import_poisson_loss},
      {"nll_loss_nd.default(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
       "SymInt ignore_index=-100)",
       import_nll_loss},
      {"nll_loss.default(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100)",
       import_nll_loss},
      {"nll_loss2d.default(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
       "SymInt ignore_index=-100)",
       import_nll_loss},
      {"cross_entropy_loss.default(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
       "SymInt ignore_index=-100, float label_smoothing=0.)",
       import_cross_entropy},
      {"soft_margin_loss.default(Tensor self, Tensor target, int reduction=1)", import_soft_margin_loss},
      {"margin_ranking_loss.default(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1)",
       import_margin_ranking_loss},
      {"hinge_embedding_loss.default(Tensor self, Tensor target, float margin=1., int reduction=1)",
       import_hinge_embedding_loss},
      {"cosine_embedding_loss.default(Tensor input1, Tensor input2, Tensor target, float margin=0., "
       "int reduction=1)",
       import_cosine_embedding_loss},
      {"triplet_margin_loss.default(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., "
       "float eps=1e-06, bool swap=False, int reduction=1)",
       import_triplet_loss},
  };
}

}  // namespace cormorant::ops
