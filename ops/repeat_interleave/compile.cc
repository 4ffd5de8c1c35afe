// SPDX-License-Identifier: Apache-2.0
//
// aten.repeat_interleave(self, repeats), one number per dimension: also upsampling to the nearest pixel by whole
// factors.
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/expand/expand.h"
#include "ops/host/build.h"
#include "ops/host/move_reference.h"
#include "ops/host/movement.h"
#include "ops/host/references.h"
#include "ops/repeat_interleave/kernel.h"
#include "ops/repeat_interleave/repeat_interleave.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

Values import_repeat_interleave(Importer& importer) {
  const ir::Node& call = *importer.call;
  const Mover mover(importer);
  ir::Value* self = call.tensor("self");
  const std::int64_t repeats = call.integer("repeats");
  if (repeats < 1) importer.reject("a repetition of zero times", {});
  if (!call.has("dim")) {  // of all elements, as if they were a vector
    return {mover.repeat_interleave(mover.view(self, {self->type.elements()}), {repeats})};
  }
  Dims all(self->type.rank(), 1);
  all[static_cast<std::size_t>(dim_argument(importer, call.integer("dim"), self->type.rank()))] = repeats;
  return {mover.repeat_interleave(self, std::move(all))};
}

// By a factor that is not whole: each dimension's indices are known now. In floats, as PyTorch computes them.
Values nearest(Importer& importer, ir::Value* self) {
  const Build b(importer);
  const bool exact = b.call().op.find("exact") != std::string::npos;
  for (std::size_t i = 2; i < b.type().rank(); ++i) {
    const auto dim = static_cast<std::int64_t>(i);
    const std::int64_t size = size_at(self, dim), results = b.type().shape[i];
    const float step = sampling_step(b, i - 2, size, results);
    b.require(size > 0);
    std::vector<std::int64_t> places;
    const bool is_twice = !exact && results == 2 * size;
    for (std::int64_t r = 0; r < results; ++r) {
      if (is_twice || (!exact && results == size)) {  // whatever the scale: PyTorch's rule
        places.push_back(is_twice ? r / 2 : r);
        continue;
      }
      const float at = (static_cast<float>(r) + (exact ? 0.5F : 0.0F)) * step;
      places.push_back(std::min(static_cast<std::int64_t>(at), size - 1));
    }
    self = b.index_select(self, dim, places);
  }
  return {b.finish(self)};
}

// The exported result gives the size. If a scale factor was given, PyTorch samples by it and not by the sizes' ratio.
template <std::size_t kDims>
Values import_upsample(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* self = call.tensor(call.has("input") ? "input" : "self");
  const ir::Shape& from = self->type.shape;
  const ir::Shape& to = importer.types.at(0).shape;
  if (from.size() != kDims + 2 || to.size() != from.size()) importer.reject("upsampling of this rank", {});
  Dims repeats(from.size(), 1);
  bool whole = true;
  for (std::size_t i = 2; i < from.size(); ++i) {
    whole = whole && from[i] > 0 && to[i] % from[i] == 0 && to[i] > 0;
    if (whole) repeats[i] = to[i] / from[i];
  }
  const auto check_scale = [&](std::size_t dim, double scale) {
    whole = whole && scale == static_cast<double>(repeats.at(dim));
  };
  for (const ir::NamedArgument& argument : call.args) {
    if (const auto* scales = std::get_if<std::vector<double>>(&argument.value); scales != nullptr) {
      for (std::size_t i = 0; i < scales->size(); ++i) check_scale(i + 2, (*scales)[i]);
    }
    if (const auto* scale = std::get_if<double>(&argument.value); scale != nullptr) {
      const std::size_t dim = argument.name == "scales_d" ? 2 : argument.name == "scales_h" ? kDims : kDims + 1;
      check_scale(dim, *scale);
    }
  }
  if (!whole) return nearest(importer, self);
  return {Mover(importer).repeat_interleave(self, std::move(repeats))};
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  const Dims& repeats = node.integers("repeats");
  const bool fits = repeats.size() == type.rank() && std::ranges::all_of(repeats, [](auto n) { return n >= 1; });
  if (!fits) {
    throw InputError({.problem = "repeats must be a positive number for each dimension",
                      .advice = {},
                      .node = node.name,
                      .source = node.location.text()});
  }
  for (std::size_t i = 0; i < repeats.size(); ++i) type.shape[i] *= repeats[i];
  return {std::move(type)};
}

// As an expansion of a tensor in which each repeated dimension has one of size 1 after it.
struct Split {
  ir::Shape from, to;
};
Split split(const ir::Shape& shape, const Dims& repeats) {
  Split result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    result.from.push_back(shape[i]);
    result.to.push_back(shape[i]);
    if (repeats[i] == 1) continue;
    result.from.push_back(1);
    result.to.push_back(repeats[i]);
  }
  return result;
}

std::vector<evaluate::Tensor> evaluate_repeat(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const Split shapes = split(input.shape, node.integers("repeats"));
  Dims steps = contiguous_steps(shapes.from);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (shapes.from[i] == 1) steps[i] = 0;
  }
  return {strided(input, shapes.to, steps).reshaped(infer(node).front().shape)};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* self = node.tensor("self");
  require_same_quantization(node, self);
  const Dims& repeats = node.integers("repeats");
  if (rewriter.config.runtime == Runtime::executorch) {
    const Mover mover(rewriter);
    const Split shapes = split(self->type.shape, repeats);
    ir::TensorType type = node.result()->type;
    type.shape = shapes.to;
    ir::Value* expanded =
        rewriter
            .emit(ExpandCopy<HostWorld>{.self = mover.view(self, shapes.from), .size = shapes.to, .implicit = false},
                  type, names::aten_expand_copy_out)
            ->result();
    return mover.view(expanded, node.result()->type.shape);
  }
  return rewriter
      .emit(RepeatInterleave<HostWorld>{.self = self, .repeats = repeats}, node.result()->type,
            repeat_interleave_variant(rewriter.config.target))
      ->result();
}

}  // namespace

Operator repeat_interleave_operator() {
  return {
      .name = "repeat_interleave",
      .forms =
          {{"repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None)",
            import_repeat_interleave},
           {"upsample_nearest1d.default(Tensor self, SymInt[1] output_size, float? scales=None)", import_upsample<1>},
           {"upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)", import_upsample<1>},
           {"_upsample_nearest_exact1d.default(Tensor self, SymInt[1] output_size, float? scales=None)",
            import_upsample<1>},
           {"_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
            import_upsample<1>},
           {"upsample_nearest2d.default(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
            "scales_w=None)",
            import_upsample<2>},
           {"upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)", import_upsample<2>},
           {"_upsample_nearest_exact2d.default(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
            "scales_w=None)",
            import_upsample<2>},
           {"_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
            import_upsample<2>},
           {"upsample_nearest3d.default(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
            "scales_h=None, float? scales_w=None)",
            import_upsample<3>},
           {"upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)", import_upsample<3>},
           {"_upsample_nearest_exact3d.default(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
            "scales_h=None, float? scales_w=None)",
            import_upsample<3>},
           {"_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors)",
            import_upsample<3>}},
      .canonical = {"aten.repeat_interleave(Tensor self, int[] repeats)"},
      .infer = infer,
      .evaluate = evaluate_repeat,
      .quantize = quantize,
      .lower = lower,
      .lower_float = lower};
}

CORMORANT_REFERENCES(repeat_interleave, CORMORANT_REPEAT_INTERLEAVE_KERNELS)

}  // namespace cormorant::ops
