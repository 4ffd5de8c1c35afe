// SPDX-License-Identifier: Apache-2.0
//
// Resizing by interpolation, one dimension at a time; sampling at computed positions; and the opposite of a pooling.
#include <algorithm>
#include <cmath>

#include "ops/decompose/forms.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

// Positions and weights of one result along a dimension.
struct Sample {
  std::vector<std::int64_t> places;
  std::vector<float> weights;
};

Sample linear_sample(float at, std::int64_t size) {
  at = std::max(at, 0.0F);
  const std::int64_t low = std::min(static_cast<std::int64_t>(at), size - 1);
  const float weight = std::min(at - static_cast<float>(low), 1.0F);
  return {{low, std::min(low + 1, size - 1)}, {1 - weight, weight}};
}

// Keys' cubic with a = −0.75, as in PyTorch.
Sample cubic_sample(float at, std::int64_t size) {
  const float floor = std::floor(at);
  const float t = at - floor;
  const auto near = [](float x) { return (1.25F * x - 2.25F) * x * x + 1; };
  const auto far = [](float x) { return ((-0.75F * x + 3.75F) * x - 6) * x + 3; };
  Sample sample{{}, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
  for (std::int64_t k = -1; k < 3; ++k) {
    sample.places.push_back(std::clamp(static_cast<std::int64_t>(floor) + k, std::int64_t{0}, size - 1));
  }
  return sample;
}

Values resize(const Build& b, Sample (*sample)(float, std::int64_t)) {
  V x = b.real(b.given("input") ? b.tensor("input") : b.tensor("self"));
  const bool align = b.call().boolean("align_corners");
  for (std::size_t i = 2; i < b.type().rank(); ++i) {
    const auto dim = static_cast<std::int64_t>(i);
    const std::int64_t size = size_at(x, dim), results = b.type().shape[i];
    float step = align ? (results > 1 ? static_cast<float>(size - 1) / static_cast<float>(results - 1) : 0.0F)
                       : sampling_step(b, i - 2, size, results);
    // PyTorch copies what keeps its size, whatever the scale.
    if (size == results && (sample == linear_sample || step == 1)) continue;
    b.require(size > 0 && results > 0);
    std::vector<double> places;
    std::vector<float> weights;
    for (std::int64_t r = 0; r < results; ++r) {
      const auto at = static_cast<float>(r);
      const Sample s = sample(align ? at * step : (at + 0.5F) * step - 0.5F, size);
      places.insert(places.end(), s.places.begin(), s.places.end());
      weights.insert(weights.end(), s.weights.begin(), s.weights.end());
    }
    const ir::Shape shape = {results, static_cast<std::int64_t>(weights.size()) / results};
    x = b.node(nodes::cormorant_taps_float, {{"self", x},
                                             {"dim", dim},
                                             {"places", b.constant(DType::i32, shape, places)},
                                             {"weights", b.floats(shape, weights)}});
  }
  return {b.finish(x)};
}
Values import_linear(Importer& importer) { return resize(Build(importer), linear_sample); }
Values import_cubic(Importer& importer) { return resize(Build(importer), cubic_sample); }

// The same after smoothing (antialias=True): as many samples as one of the result covers, by a filter as wide as that.
struct Filter {
  double radius;
  double (*at)(double);
};
constexpr Filter kTriangle = {1, [](double x) { return std::max(1 - std::abs(x), 0.0); }};
// Keys' cubic with a = −0.5, unlike that without smoothing.
constexpr Filter kCubic = {2, [](double x) {
                             x = std::abs(x);
                             if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
                             return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0.0;
                           }};

Values smooth_resize(const Build& b, const Filter& filter) {
  V x = b.real(b.given("input") ? b.tensor("input") : b.tensor("self"));
  const bool align = b.call().boolean("align_corners");
  for (std::size_t i = 2; i < b.type().rank(); ++i) {
    const auto dim = static_cast<std::int64_t>(i);
    const std::int64_t size = size_at(x, dim), results = b.type().shape[i];
    b.require(size > 0 && results > 0);
    const double step = align ? (results > 1 ? static_cast<double>(size - 1) / static_cast<double>(results - 1) : 0.0)
                              : static_cast<double>(sampling_step(b, i - 2, size, results));
    if (size == results && step == 1) continue;
    const double wide = std::max(step, 1.0);
    const double reach = filter.radius * wide;
    const auto taps = std::min(static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1, size);
    b.require_moderate(ir::float_type({results, taps}));
    std::vector<double> places;
    std::vector<float> weights;
    for (std::int64_t r = 0; r < results; ++r) {
      const double center = step * (static_cast<double>(r) + 0.5);
      // A place beyond the last is one that a factor and a size which do not fit together ask for.
      const std::int64_t first = std::clamp(static_cast<std::int64_t>(center - reach + 0.5), std::int64_t{0}, size - 1);
      const std::int64_t end = std::clamp(static_cast<std::int64_t>(center + reach + 0.5), first + 1, size);
      std::vector<double> row(static_cast<std::size_t>(taps), 0);
      double sum = 0;
      for (std::int64_t at = first; at < std::min(end, first + taps); ++at) {
        sum += row[static_cast<std::size_t>(at - first)] = filter.at((static_cast<double>(at) - center + 0.5) / wide);
      }
      for (std::int64_t t = 0; t < taps; ++t) {
        places.push_back(static_cast<double>(std::min(first + t, size - 1)));
        weights.push_back(static_cast<float>(sum == 0 ? 0 : row[static_cast<std::size_t>(t)] / sum));
      }
    }
    x = b.node(nodes::cormorant_taps_float, {{"self", x},
                                             {"dim", dim},
                                             {"places", b.constant(DType::i32, {results, taps}, places)},
                                             {"weights", b.floats({results, taps}, weights)}});
  }
  return {b.finish(x)};
}
Values import_smooth_linear(Importer& importer) { return smooth_resize(Build(importer), kTriangle); }
Values import_smooth_cubic(Importer& importer) { return smooth_resize(Build(importer), kCubic); }

// Where an affine map takes the pixels of an image, whose corners are −1 and 1 (or, unless aligned, half a pixel
// outside): a constant times the map.
Values import_affine_grid(Importer& importer) {
  const Build b(importer);
  V theta = b.real(b.tensor("theta"));
  const auto& size = b.call().integers("size");
  const bool align = b.call().boolean("align_corners");
  b.require(size.size() == 4 || size.size() == 5);
  const std::size_t spatial = size.size() - 2;
  const auto wide = static_cast<std::int64_t>(spatial);
  b.require(theta->type.shape == ir::Shape({size[0], wide, wide + 1}));
  ir::Shape image(size.begin() + 2, size.end());
  b.require_moderate(ir::float_type(image));
  const std::int64_t pixels = ir::float_type(std::move(image)).elements();
  b.require_moderate(ir::float_type({pixels, wide + 1}));
  std::vector<double> homogeneous;
  for (std::int64_t p = 0; p < pixels; ++p) {
    std::int64_t rest = p;
    for (std::size_t i = size.size(); i-- > 2; rest /= size[i]) {  // x, y, z
      const auto n = static_cast<double>(size[i]);
      const auto at = static_cast<double>(rest % size[i]);
      homogeneous.push_back(size[i] == 1 ? 0 : (align ? 2 * at / (n - 1) - 1 : (2 * at + 1) / n - 1));
    }
    homogeneous.push_back(1);
  }
  V base = b.constant(DType::f32, {1, pixels, wide + 1}, homogeneous);
  return {b.finish(b.matmul(b.expand(base, {size[0], pixels, wide + 1}), b.swap(theta, 1, 2)))};
}

Values import_grid_sampler(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.node(nodes::cormorant_grid_sample_float, {{"input", b.tensor("input")},
                                                               {"grid", b.tensor("grid")},
                                                               {"mode", b.call().integer("interpolation_mode")},
                                                               {"padding", b.call().integer("padding_mode")},
                                                               {"align_corners", b.call().boolean("align_corners")}}))};
}

// Elements go back to where the pooling found them, zeros elsewhere.
Values import_unpool(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V indices = b.tensor("indices");
  const std::size_t spatial = b.call().integers("output_size").size();
  const ir::Shape& result = b.type().shape;
  b.require(result.size() == self->type.rank() && spatial <= result.size());
  std::int64_t size = 1, from = 1;
  for (std::size_t i = result.size() - spatial; i < result.size(); ++i) {
    size *= result[i];
    from *= self->type.shape[i];
  }
  if (self->type.elements() == 0) return {b.filled(0, b.type())};
  const std::int64_t rows = self->type.elements() / from;
  V places = b.view(indices, {rows, from});
  V values = b.view(self, {rows, from});
  return {
      b.finish(b.scatter(nodes::aten_scatter_src_out, b.filled(0, ir::float_type({rows, size})), 1, places, values))};
}

}  // namespace

std::vector<AtenForm> image_forms() {
  return {
      {"upsample_linear1d.default(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None)",
       import_linear},
      {"upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)",
       import_linear},
      {"upsample_bilinear2d.default(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
       "float? scales_w=None)",
       import_linear},
      {"upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)",
       import_linear},
      {"upsample_trilinear3d.default(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, "
       "float? scales_h=None, float? scales_w=None)",
       import_linear},
      {"upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)",
       import_linear},
      {"upsample_bicubic2d.default(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
       "float? scales_w=None)",
       import_cubic},
      {"upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)",
       import_cubic},
      {"_upsample_bilinear2d_aa.default(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
       "float? scales_w=None)",
       import_smooth_linear},
      {"_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)",
       import_smooth_linear},
      {"_upsample_bicubic2d_aa.default(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
       "float? scales_w=None)",
       import_smooth_cubic},
      {"_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)",
       import_smooth_cubic},
      {"affine_grid_generator.default(Tensor theta, SymInt[] size, bool align_corners)", import_affine_grid},
      {"grid_sampler.default(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
       "bool align_corners)",
       import_grid_sampler},
      {"grid_sampler_2d.default(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
       "bool align_corners)",
       import_grid_sampler},
      {"grid_sampler_3d.default(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
       "bool align_corners)",
       import_grid_sampler},
      {"max_unpool2d.default(Tensor self, Tensor indices, SymInt[2] output_size)", import_unpool},
      {"max_unpool3d.default(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding)",
       import_unpool},
  };
}

}  // namespace cormorant::ops
