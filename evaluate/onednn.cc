// SPDX-License-Identifier: Apache-2.0
#include "evaluate/onednn.h"

#include <functional>
#include <map>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>

// From the OpenMP runtime that oneDNN is linked with. Declared here instead of including omp.h, which belongs to the
// compiler's own OpenMP, possibly a different one.
extern "C" void omp_set_num_threads(int count);

namespace cormorant::evaluate {
namespace {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);
  return kEngine;
}

// Per-thread state: a stream, working memory that grows to the largest primitive's need, and the setting that OpenMP
// keeps per thread. oneDNN chooses its algorithm by the number of threads, too: with one, always the same.
struct ThreadState {
  dnnl::stream stream{engine()};
  memory scratch;

  static ThreadState& get() {
    omp_set_num_threads(1);
    thread_local ThreadState state;
    return state;
  }
  memory scratch_for(const memory::desc& need) {
    if (!scratch || scratch.get_desc().get_size() < need.get_size()) {
      const auto bytes = static_cast<memory::dim>(need.get_size());
      scratch = memory({{bytes}, memory::data_type::u8, memory::format_tag::a}, engine());
    }
    return {need, engine(), scratch.get_data_handle()};
  }
};

// A primitive for given shapes, with the weights in its preferred order.
struct Prepared {
  std::weak_ptr<const std::vector<float>> source;  // whose weights they are; empty when the primitive keeps none
  dnnl::primitive primitive;
  memory::desc src, dst, scratchpad;
  memory weights;
};

// Shapes and geometry as one row of numbers, after the address of the weights.
using Key = std::pair<const void*, std::vector<std::int64_t>>;

class Cache {
 public:
  // The prepared primitive of the key, made on first use. An address may be reused by other weights after the first
  // owner let go, so an entry counts only while its owner lives.
  std::shared_ptr<const Prepared> get(const Key& key, const std::shared_ptr<const std::vector<float>>& owner,
                                      const std::function<Prepared()>& prepare) {
    const std::scoped_lock lock(mutex_);
    if (const auto at = entries_.find(key); at != entries_.end()) {
      if (owner == nullptr || at->second->source.lock() == owner) return at->second;
    }
    if (entries_.size() >= sweep_at_) {
      std::erase_if(entries_,
                    [](const auto& entry) { return entry.first.first != nullptr && entry.second->source.expired(); });
      sweep_at_ = 2 * entries_.size() + kFirstSweep;
    }
    auto made = std::make_shared<Prepared>(prepare());
    made->source = owner;
    entries_[key] = made;
    return made;
  }

 private:
  static constexpr std::size_t kFirstSweep = 64;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Prepared>> entries_;
  std::size_t sweep_at_ = kFirstSweep;
};

Cache& cache() {
  static Cache all;
  return all;
}

memory::desc plain(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * std::max<memory::dim>(dims[k], 1);
  return {dims, memory::data_type::f32, strides};
}

memory::desc any_order(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the library's own is one per primitive: not thread-safe
  return attr;
}

// oneDNN's interface takes writable memory for everything.
memory view_of(const memory::desc& desc, std::span<const float> data) {
  return {desc, engine(), const_cast<float*>(data.data())};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

memory reordered(ThreadState& thread, memory from, const memory::desc& wanted) {
  if (from.get_desc() == wanted) return from;
  memory to(wanted, engine());
  dnnl::reorder(from, to).execute(thread.stream, from, to);
  thread.stream.wait();
  return to;
}

// Primitive descriptors of all kinds have the same accessors.
template <class PrimitiveDesc, class Primitive>
Prepared prepared(ThreadState& thread, const PrimitiveDesc& desc, Primitive primitive,
                  const memory::desc& plain_weights, const Tensor* weights) {
  Prepared result;
  result.primitive = std::move(primitive);
  result.src = desc.src_desc();
  result.dst = desc.dst_desc();
  result.scratchpad = desc.scratchpad_desc();
  if (weights != nullptr) {
    result.weights = reordered(thread, view_of(plain_weights, weights->values()), desc.weights_desc());
    if (result.weights.get_desc() == plain_weights) {
      // The caller's own bytes would do, but an entry must not depend on their lifetime.
      memory copy(plain_weights, engine());
      std::copy(weights->values().begin(), weights->values().end(), static_cast<float*>(copy.get_data_handle()));
      result.weights = copy;
    }
  }
  return result;
}

std::vector<float> execute(ThreadState& thread, const Prepared& prepared, const memory::dims& src_dims,
                           std::span<const float> src, const memory::dims& dst_dims, const memory& weights,
                           const Tensor* bias) {
  std::unordered_map<int, memory> args;
  args[DNNL_ARG_SRC] = reordered(thread, view_of(plain(src_dims), src), prepared.src);
  args[DNNL_ARG_WEIGHTS] = weights;
  if (bias != nullptr) args[DNNL_ARG_BIAS] = view_of(plain(bias->shape), bias->values());
  args[DNNL_ARG_SCRATCHPAD] = thread.scratch_for(prepared.scratchpad);
  const memory::desc plain_dst = plain(dst_dims);
  std::vector<float> out(plain_dst.get_size() / sizeof(float));
  memory out_memory = view_of(plain_dst, out);
  const bool direct = prepared.dst == plain_dst;
  memory dst = direct ? out_memory : memory(prepared.dst, engine());
  args[DNNL_ARG_DST] = dst;
  prepared.primitive.execute(thread.stream, args);
  if (!direct) dnnl::reorder(dst, out_memory).execute(thread.stream, dst, out_memory);
  thread.stream.wait();
  return out;
}

void append(std::vector<std::int64_t>& key, std::span<const std::int64_t> numbers) {
  key.push_back(static_cast<std::int64_t>(numbers.size()));  // so that no two sequences of lists look alike
  key.insert(key.end(), numbers.begin(), numbers.end());
}

std::int64_t product(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(std::string("evaluate: ") + what);
}

enum Kind : std::int64_t { kConvolution, kLinear, kMatmul, kGram };

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor* bias, const ConvolutionGeometry& geometry) {
  const std::vector<std::int64_t>& pads = geometry.padding;
  require(input.shape.size() == 4 && weight.shape.size() == 4, "convolution needs four dimensions");
  require(geometry.stride.size() == 2 && geometry.dilation.size() == 2, "convolution needs two strides and dilations");
  require(pads.size() == 2 || pads.size() == 4, "convolution needs two or four pads");
  require(geometry.groups > 0 && input.shape[1] == weight.shape[1] * geometry.groups, "channels do not match groups");
  const memory::dims before = {pads[0], pads[1]};
  const memory::dims after = pads.size() == 4 ? memory::dims{pads[2], pads[3]} : before;
  const memory::dims dilation = {geometry.dilation[0] - 1, geometry.dilation[1] - 1};  // oneDNN counts the gaps
  memory::dims dst_dims = {input.shape[0], weight.shape[0], 0, 0};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int64_t reach = (weight.shape[k + 2] - 1) * geometry.dilation[k] + 1;
    const std::int64_t room = input.shape[k + 2] + before[k] + after[k] - reach;
    require(room >= 0, "convolution kernel is larger than its input");
    dst_dims[k + 2] = room / geometry.stride[k] + 1;
  }
  memory::dims weight_dims = weight.shape;
  if (geometry.groups > 1) {
    weight_dims[0] /= geometry.groups;
    weight_dims.insert(weight_dims.begin(), geometry.groups);
  }

  Key key = {weight.data.get(), {kConvolution, geometry.groups, bias != nullptr ? 1 : 0}};
  for (const auto* list : {&input.shape, &weight.shape, &geometry.stride, &pads, &geometry.dilation}) {
    append(key.second, *list);
  }
  ThreadState& thread = ThreadState::get();
  const auto entry = cache().get(key, weight.data, [&] {
    using Forward = dnnl::convolution_forward;
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const memory::desc src = any_order(input.shape), dst = any_order(dst_dims), weights = any_order(weight_dims);
    const Forward::desc desc =
        bias != nullptr ? Forward::desc(kind, algorithm, src, weights, plain(bias->shape), dst, geometry.stride,
                                        dilation, before, after)
                        : Forward::desc(kind, algorithm, src, weights, dst, geometry.stride, dilation, before, after);
    const Forward::primitive_desc primitive(desc, attributes(), engine());
    return prepared(thread, primitive, Forward(primitive), plain(weight_dims), &weight);
  });
  return {dst_dims, execute(thread, *entry, input.shape, input.values(), dst_dims, entry->weights, bias)};
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor* bias) {
  require(!input.shape.empty() && weight.shape.size() == 2 && input.shape.back() == weight.shape[1],
          "linear's input and weight do not match");
  const memory::dims src_dims = {product(std::span(input.shape).first(input.shape.size() - 1)), weight.shape[1]};
  const memory::dims dst_dims = {src_dims[0], weight.shape[0]};

  Key key = {weight.data.get(), {kLinear, bias != nullptr ? 1 : 0}};
  append(key.second, src_dims);
  append(key.second, weight.shape);
  ThreadState& thread = ThreadState::get();
  const auto entry = cache().get(key, weight.data, [&] {
    using Forward = dnnl::inner_product_forward;
    const auto kind = dnnl::prop_kind::forward_inference;
    const memory::desc src = any_order(src_dims), dst = any_order(dst_dims), weights = any_order(weight.shape);
    const Forward::desc desc = bias != nullptr ? Forward::desc(kind, src, weights, plain(bias->shape), dst)
                                               : Forward::desc(kind, src, weights, dst);
    const Forward::primitive_desc primitive(desc, attributes(), engine());
    return prepared(thread, primitive, Forward(primitive), plain(weight.shape), &weight);
  });
  ir::Shape shape = input.shape;
  shape.back() = weight.shape[0];
  return {std::move(shape), execute(thread, *entry, src_dims, input.values(), dst_dims, entry->weights, bias)};
}

Tensor matmul(const Tensor& left, const Tensor& right) {
  const std::size_t rank = left.shape.size();
  require(rank >= 2 && right.shape.size() == rank && left.shape[rank - 1] == right.shape[rank - 2],
          "matmul's operands do not match");
  const auto batch = std::span(left.shape).first(rank - 2);
  require(std::equal(batch.begin(), batch.end(), right.shape.begin()), "matmul's leading dimensions differ");
  const memory::dims left_dims = {product(batch), left.shape[rank - 2], left.shape[rank - 1]};
  const memory::dims right_dims = {left_dims[0], right.shape[rank - 2], right.shape[rank - 1]};
  const memory::dims dst_dims = {left_dims[0], left_dims[1], right_dims[2]};

  Key key = {nullptr, {kMatmul}};  // the right operand is an activation: nothing of it is kept
  append(key.second, left_dims);
  append(key.second, right_dims);
  ThreadState& thread = ThreadState::get();
  const auto entry = cache().get(key, nullptr, [&] {
    const dnnl::matmul::desc desc(plain(left_dims), plain(right_dims), plain(dst_dims));
    const dnnl::matmul::primitive_desc primitive(desc, attributes(), engine());
    return prepared(thread, primitive, dnnl::matmul(primitive), plain(right_dims), nullptr);
  });
  ir::Shape shape = left.shape;
  shape.back() = right.shape.back();
  return {std::move(shape), execute(thread, *entry, left_dims, left.values(), dst_dims,
                                    view_of(plain(right_dims), right.values()), nullptr)};
}

Tensor gram(const Tensor& rows, std::size_t first, std::size_t count) {
  require(rows.shape.size() == 2 && static_cast<std::int64_t>(first + count) <= rows.shape[0], "gram needs rows");
  const memory::dim columns = rows.shape[1], height = static_cast<memory::dim>(count);
  const memory::dims left_dims = {1, height, columns}, dst_dims = {1, height, rows.shape[0]};
  // The same numbers again, read along the other dimension.
  const memory::desc turned({1, columns, rows.shape[0]}, memory::data_type::f32, {rows.shape[0] * columns, 1, columns});

  const Key key = {nullptr, {kGram, height, columns, rows.shape[0]}};
  ThreadState& thread = ThreadState::get();
  const auto entry = cache().get(key, nullptr, [&] {
    const dnnl::matmul::desc desc(plain(left_dims), turned, plain(dst_dims));
    const dnnl::matmul::primitive_desc primitive(desc, attributes(), engine());
    return prepared(thread, primitive, dnnl::matmul(primitive), turned, nullptr);
  });
  const auto panel =
      rows.values().subspan(first * static_cast<std::size_t>(columns), count * static_cast<std::size_t>(columns));
  return {{height, rows.shape[0]},
          execute(thread, *entry, left_dims, panel, dst_dims, view_of(turned, rows.values()), nullptr)};
}

}  // namespace cormorant::evaluate
