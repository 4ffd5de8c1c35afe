// SPDX-License-Identifier: Apache-2.0
//
// Sums in order: the bias, the input's products, then those of h.
#include "base/float_math.h"
#include "ops/load/float_kernel.h"
#include "ops/recurrent/recurrent.h"

namespace cormorant::ops::recurrent {
namespace {

struct FloatPlan {
  static constexpr std::uint32_t kStateBytes = 44;
  const float* input;
  const float* h;  // null: zeros
  const float* c;
  const float* packed;
  float* scratch;
  float* states;
  float* last;
  std::uint32_t steps, batch;
  std::uint16_t inputs, units, outputs;  // outputs: of h
  Kind kind;
  bool backwards;
};

bool is_matrix(const Tensor& tensor, std::int32_t rows, std::int32_t columns) {
  return is_f32(tensor) && tensor.rank == 2 && tensor.sizes[0] == rows && tensor.sizes[1] == columns &&
         tensor.is_contiguous();
}

// A state may be the result that replaces it, if their rows are at the same addresses.
void check_state(Call& call, const FloatRecurrent<TargetWorld>& a, const OptionalTensor& state) {
  if (!state.present()) return;
  call.require(is_matrix(state, a.input.sizes[1], a.states.sizes[2]), Error::bad_shape);
  if (a.states.bytes() != state.bytes() || a.states.data != state.data) call.require_apart(a.states, state);
  if (a.last.data != state.data) call.require_apart(a.last, state);
}

[[gnu::noinline]] bool arguments_fit(Call& call, const FloatRecurrent<TargetWorld>& a) {
  call.require(is_f32(a.input) && is_f32(a.states) && is_f32(a.packed) && a.kind >= 0 && a.kind <= 2, Error::bad_value);
  call.require(a.input.rank == 3 && a.states.rank == 3, Error::bad_shape);
  if (call.error() != Error::ok) return false;
  const std::int32_t* const in = a.input.sizes;
  const std::int32_t* const out = a.states.sizes;
  const auto inputs = static_cast<std::uint32_t>(in[2]);
  const auto units = static_cast<std::uint32_t>(out[2]);
  call.require(in[0] == out[0] && in[1] == out[1] && is_matrix(a.last, in[1], out[2]), Error::bad_shape);
  call.require(a.input.is_contiguous() && a.states.is_contiguous() && a.packed.is_contiguous(), Error::bad_shape);
  call.require(inputs - 1U < kMaxFeatures && units - 1U < kMaxFeatures, Error::bad_shape);
  const auto kind = static_cast<Kind>(a.kind);
  call.require(!a.c.present() || kind == Kind::lstm, Error::bad_value);
  check_state(call, a, a.h);
  check_state(call, a, a.c);
  call.require_apart(a.states, a.input);
  call.require_apart(a.last, a.input);
  if (call.error() != Error::ok) return false;
  call.require(a.packed.bytes() == 4 * gates_of(kind) * units * (inputs + units + 2), Error::bad_constant);
  call.require_scratch(a.scratch, float_scratch_bytes(kind, inputs, units, units), 4);
  return call.error() == Error::ok;
}

// Common to the forms whose h and states are not as those above.
template <class A>
bool sequences_fit(Call& call, const A& a) {
  call.require(is_f32(a.input) && is_f32(a.states) && is_f32(a.packed), Error::bad_value);
  call.require(a.input.rank == 3 && a.states.rank == 3, Error::bad_shape);
  if (call.error() != Error::ok) return false;
  const std::int32_t* const in = a.input.sizes;
  const std::int32_t* const out = a.states.sizes;
  call.require(in[0] == out[0] && in[1] == out[1], Error::bad_shape);
  call.require(a.input.is_contiguous() && a.states.is_contiguous() && a.packed.is_contiguous(), Error::bad_shape);
  const auto fits = [](std::int32_t size) { return size > 0 && size <= static_cast<std::int32_t>(kMaxFeatures); };
  call.require(fits(in[2]) && fits(out[2]), Error::bad_shape);
  call.require_apart(a.states, a.input);
  if (a.h.present()) {
    call.require(is_matrix(a.h, in[1], out[2]), Error::bad_shape);
    if (a.states.bytes() != a.h.bytes() || a.states.data != a.h.data) call.require_apart(a.states, a.h);
  }
  return call.error() == Error::ok;
}

[[gnu::noinline]] bool projected_fit(Call& call, const FloatRecurrent<TargetWorld>& a) {
  if (!sequences_fit(call, a)) return false;
  const auto is_cell = [&](const Tensor& c) { return is_matrix(c, a.input.sizes[1], a.last.sizes[1]); };
  call.require(a.kind == static_cast<std::int64_t>(Kind::lstm), Error::bad_value);
  call.require(a.last.rank == 2 && is_cell(a.last) && (!a.c.present() || is_cell(a.c)), Error::bad_shape);
  if (call.error() != Error::ok) return false;
  const auto inputs = static_cast<std::uint32_t>(a.input.sizes[2]),
             outputs = static_cast<std::uint32_t>(a.states.sizes[2]),
             units = static_cast<std::uint32_t>(a.last.sizes[1]);
  call.require(units - 1U < kMaxFeatures && outputs <= units, Error::bad_shape);
  call.require_apart(a.last, a.input);
  call.require_apart(a.last, a.h);
  call.require_apart(a.states, a.c);
  if (a.last.data != a.c.data) call.require_apart(a.last, a.c);
  if (call.error() != Error::ok) return false;
  call.require(a.packed.bytes() == 4 * units * (4 * (inputs + outputs + 2) + outputs), Error::bad_constant);
  call.require_scratch(a.scratch, float_scratch_bytes(Kind::lstm, inputs, units, outputs), 4);
  return call.error() == Error::ok;
}

FloatPlan plan_of(const FloatRecurrent<TargetWorld>& a) {
  return {.input = a.input.as<const float>(),
          .h = a.h.as<const float>(),
          .c = a.c.as<const float>(),
          .packed = a.packed.as<const float>(),
          .scratch = a.scratch.as<float>(),
          .states = a.states.as<float>(),
          .last = a.last.as<float>(),
          .steps = static_cast<std::uint32_t>(a.input.sizes[0]),
          .batch = static_cast<std::uint32_t>(a.input.sizes[1]),
          .inputs = static_cast<std::uint16_t>(a.input.sizes[2]),
          .units = static_cast<std::uint16_t>(a.states.sizes[2]),
          .outputs = static_cast<std::uint16_t>(a.states.sizes[2]),
          .kind = static_cast<Kind>(a.kind),
          .backwards = a.backwards};
}

Error load_float(Call& call) {
  FloatRecurrent<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  if (!arguments_fit(call, a)) return call.error();
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return call.error();
  *plan = plan_of(a);
  return call.error();
}

Error load_float_relu(Call& call) {
  FloatReluRecurrent<TargetWorld> a;
  if (!call.read_signature(a) || !sequences_fit(call, a)) return call.error();
  const auto inputs = static_cast<std::uint16_t>(a.input.sizes[2]),
             units = static_cast<std::uint16_t>(a.states.sizes[2]);
  call.require(a.packed.bytes() == 4U * units * (inputs + units + 2), Error::bad_constant);
  call.require_scratch(a.scratch, float_scratch_bytes(Kind::rnn_relu, inputs, units, units), 4);
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = a.input.as<const float>(),
           .h = a.h.as<const float>(),
           .c = nullptr,
           .packed = a.packed.as<const float>(),
           .scratch = a.scratch.as<float>(),
           .states = a.states.as<float>(),
           .last = nullptr,
           .steps = static_cast<std::uint32_t>(a.input.sizes[0]),
           .batch = static_cast<std::uint32_t>(a.input.sizes[1]),
           .inputs = inputs,
           .units = units,
           .outputs = units,
           .kind = Kind::rnn_relu,
           .backwards = a.backwards};
  return call.error();
}

Error load_float_projected(Call& call) {
  FloatRecurrent<TargetWorld> a;
  if (!call.read_signature(a) || !projected_fit(call, a)) return call.error();
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return call.error();
  *plan = plan_of(a);
  plan->units = static_cast<std::uint16_t>(a.last.sizes[1]);
  return call.error();
}

// Not inlined: a step has five of them.
[[gnu::noinline]] float sigmoid(float x) { return 1 / (1 + float_math::exp(-x)); }
[[gnu::noinline]] float tanh(float x) { return float_math::tanh(x); }

float dot(float sum, const float* weights, const float* x, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) sum += weights[i] * x[i];
  return sum;
}

// All sums of a step, gate by gate; for a GRU's n, those from the input and from h separately.
[[gnu::noinline]] void multiply(const FloatPlan& p, const float* vector, float* sums) {
  const std::uint32_t length = p.inputs + p.outputs;
  const std::uint32_t rows = gates_of(p.kind) * p.units;
  const std::uint32_t joint = p.kind == Kind::gru ? 2U * p.units : rows;
  const float* row = p.packed;
  for (std::uint32_t n = 0; n < rows; ++n, row += length + 2) {
    const float from_input = dot(row[length], row, vector, p.inputs);
    const float from_h = dot(row[length + 1], row + p.inputs, vector + p.inputs, p.outputs);
    sums[n] = n < joint ? from_input + from_h : from_input;
    if (n >= joint) sums[n + p.units] = from_h;
  }
}

[[gnu::noinline]] float next_h(const FloatPlan& p, const float* sum, float& kept) {
  const std::uint32_t units = p.units;
  if (p.kind == Kind::lstm) {
    kept = sigmoid(sum[units]) * kept + sigmoid(sum[0]) * tanh(sum[2 * units]);
    return sigmoid(sum[3 * units]) * tanh(kept);
  }
  if (p.kind == Kind::gru) {
    const float n = tanh(sum[2 * units] + sigmoid(sum[0]) * sum[3 * units]);
    kept = n + sigmoid(sum[units]) * (kept - n);
  } else {
    kept = tanh(sum[0]);
  }
  return kept;
}

void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  const std::uint32_t units = p.units;
  float* const vector = p.scratch;
  float* const h = vector + p.inputs;
  float* const sums = h + units;
  for (std::uint32_t b = 0; b < p.batch; ++b) {
    float* const kept = p.last + b * units;
    for (std::uint32_t u = 0; u < units; ++u) {
      h[u] = p.h == nullptr ? 0 : p.h[b * units + u];
      kept[u] = p.kind != Kind::lstm ? h[u] : p.c == nullptr ? 0 : p.c[b * units + u];
    }
    for (std::uint32_t k = 0; k < p.steps; ++k) {
      const std::uint32_t at = (p.backwards ? p.steps - 1 - k : k) * p.batch + b;
      for (std::uint32_t i = 0; i < p.inputs; ++i) vector[i] = p.input[at * p.inputs + i];
      multiply(p, vector, sums);
      for (std::uint32_t u = 0; u < units; ++u) p.states[at * units + u] = h[u] = next_h(p, sums + u, kept[u]);
    }
  }
}

// h of one row of the batch is begun with, and a step's input follows it into the vector.
void begin(const FloatPlan& p, std::uint32_t b) {
  float* const h = p.scratch + p.inputs;
  for (std::uint32_t u = 0; u < p.outputs; ++u) h[u] = p.h == nullptr ? 0 : p.h[b * p.outputs + u];
}
std::uint32_t take_input(const FloatPlan& p, std::uint32_t b, std::uint32_t k) {
  const std::uint32_t at = (p.backwards ? p.steps - 1 - k : k) * p.batch + b;
  for (std::uint32_t i = 0; i < p.inputs; ++i) p.scratch[i] = p.input[at * p.inputs + i];
  return at;
}

void execute_float_relu(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  const std::uint32_t units = p.units;
  float* const h = p.scratch + p.inputs;
  float* const sums = h + units;
  for (std::uint32_t b = 0; b < p.batch; ++b) {
    begin(p, b);
    for (std::uint32_t k = 0; k < p.steps; ++k) {
      const std::uint32_t at = take_input(p, b, k);
      multiply(p, p.scratch, sums);
      for (std::uint32_t u = 0; u < units; ++u) p.states[at * units + u] = h[u] = sums[u] < 0 ? 0 : sums[u];
    }
  }
}

void execute_float_projected(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  const std::uint32_t units = p.units, outputs = p.outputs;
  float* const h = p.scratch + p.inputs;
  float* const sums = h + outputs;
  const float* const projection = p.packed + 4 * units * (p.inputs + outputs + 2);
  for (std::uint32_t b = 0; b < p.batch; ++b) {
    float* const kept = p.last + b * units;
    begin(p, b);
    for (std::uint32_t u = 0; u < units; ++u) kept[u] = p.c == nullptr ? 0 : p.c[b * units + u];
    for (std::uint32_t k = 0; k < p.steps; ++k) {
      const std::uint32_t at = take_input(p, b, k);
      multiply(p, p.scratch, sums);
      // o · tanh c replaces the first sum of its unit.
      for (std::uint32_t u = 0; u < units; ++u) sums[u] = next_h(p, sums + u, kept[u]);
      for (std::uint32_t u = 0; u < outputs; ++u) {
        p.states[at * outputs + u] = h[u] = dot(0, projection + u * units, sums, units);
      }
    }
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, any_cpu)

}  // namespace cormorant::ops::recurrent
