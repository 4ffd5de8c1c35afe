// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/diagnostic.h"
#include "ops/host/words.h"
#include "ops/recurrent/arithmetic.h"

namespace cormorant::ops::recurrent {
namespace {

[[noreturn]] void refuse(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// One row of the matrix: weights of a part of [input | h], and the sum's initial value.
struct PackedRow {
  std::vector<std::int8_t> weights;
  std::int32_t bias = 0;
  double factor = 0;  // from the sum to 12 fractional bits, or 11, or a part's
  double reach = 0;   // the largest magnitude that comes out
};

// What all of it stands for, before it is laid out.
class Matrix {
 public:
  // `finer`: fractional bits of parts beyond the fewest.
  Matrix(const ir::Node& node, const Geometry& geometry, std::int32_t finer = 0)
      : node_(node),
        geometry_(geometry),
        finer_(finer),
        w_ih_(*node.tensor("w_ih")),
        w_hh_(*node.tensor("w_hh")),
        x_(*node.tensor("input")->type.quant),
        h_(*node.results.at(0)->type.quant) {}

  // Row `n` of a block.
  [[nodiscard]] PackedRow row(std::uint32_t k, std::uint32_t n) const {
    const Block block = geometry_.block(k);
    const bool has_input = block.first == 0, has_h = block.first + block.length > geometry_.inputs;
    n += block.weight_row;
    PackedRow row;
    const double unit = unit_of(n, has_input);
    row.factor = unit / sum_scale(n) / (geometry_.are_parts(k) ? 1 << (kPartShift - finer_) : 1);
    double bias = 0;
    if (has_input) bias += append(row, w_ih_, n, x_.zero_point()) + bias_of("b_ih", n) / unit;
    if (has_h) bias += append(row, w_hh_, n, h_.zero_point()) + bias_of("b_hh", n) / unit;
    set_bias(row, std::round(bias), multiplies_words(geometry_.layout));
    return row;
  }

  // Row `n` of the projection, from o · tanh c with 15 fractional bits to steps of h.
  [[nodiscard]] PackedRow projection(const ir::Value& w_hr, std::uint32_t n) const {
    PackedRow row;
    append(row, w_hr, n, 0);
    row.factor = kUnitScale * scale_of(w_hr, n) / h_.scale();
    set_bias(row, 0, true);
    if (row.factor >= 0.5 - 0x1p-30) too_large();
    return row;
  }

  // How far sums must be shifted left so that every factor is below 1; after all rows.
  [[nodiscard]] std::uint8_t left(double largest_factor) const {
    std::uint8_t left = 0;
    if (multiplies_words(geometry_.layout)) {  // one multiplication, by less than a half
      if (largest_factor >= 0.5 - 0x1p-30) too_large();
      return left;
    }
    while (std::ldexp(largest_factor, -left) >= 1 - 0x1p-30) {
      if (++left > 20 || std::ldexp(largest_, left) >= 0x1p30) too_large();
    }
    return left;
  }

 private:
  [[noreturn]] void too_large() const {
    if (keeps_own_h(node_)) {
      refuse(node_, "the states of a recurrent layer are all close to zero", "check the calibration data");
    }
    refuse(node_, "the inputs of a recurrent layer are too large for its 16-bit gates",
           "normalize them: gates represent −8 to 8");
  }

  // Very many 16-bit elements could leave 32 bits: such a row has coarser weights.
  void set_bias(PackedRow& row, double bias, bool times_words) const {
    const auto largest_sum = [&](double element) {
      double largest = std::abs(bias);
      for (const std::int8_t weight : row.weights) largest += element * std::abs(weight);
      return largest;
    };
    double largest = 0;
    if (times_words) {
      while ((largest = largest_sum(32768)) >= 0x1p31 - 1) {
        for (std::int8_t& weight : row.weights) weight = static_cast<std::int8_t>(std::lround(weight / 2.0));
        bias = std::round(bias / 2);
        row.factor *= 2;
      }
    } else {
      if ((largest = largest_sum(128)) >= 0x1p30) too_large();
      largest_ = std::max(largest_, largest);
    }
    row.bias = static_cast<std::int32_t>(bias);
    row.reach = largest * row.factor;
  }

  // What a step of row n's sum stands for.
  [[nodiscard]] double sum_scale(std::uint32_t n) const {
    const bool words = multiplies_words(geometry_.layout);
    if (geometry_.kind == Kind::rnn_relu) return words ? h_.scale() : std::ldexp(h_.scale(), -kReluBits);
    return words && !is_only_of_tanh(n) ? 2 * kSumScale : kSumScale;
  }

  // The rows are those of the gates, one gate after the other.
  [[nodiscard]] bool is_only_of_tanh(std::uint32_t n) const {
    const std::uint32_t gate = n / geometry_.units;
    return geometry_.kind == Kind::rnn || (geometry_.kind == Kind::lstm && gate == 2);
  }

  // Scale of the sums of row n, which the products of both weights must share if they are added before scaling.
  [[nodiscard]] double unit_of(std::uint32_t n, bool has_input) const {
    const double of_input = x_.scale() * scale_of(w_ih_, n), of_h = h_.scale() * scale_of(w_hh_, n);
    if (multiplies_words(geometry_.layout)) return has_input ? of_input : of_h;
    if (!(std::abs(of_input - of_h) <= 1e-5 * of_input)) {
      refuse(node_, "the products of its two weights have different units",
             "choose the weights' scales so that both products have the same scale");
    }
    return of_input;
  }
  static double scale_of(const ir::Value& weight, std::uint32_t n) {
    const ir::QuantParams& quant = *weight.type.quant;
    return quant.scales.at(quant.per_channel() ? n : 0);
  }

  // Appends a row of weights; returns −zero point · Σ weights.
  static double append(PackedRow& row, const ir::Value& weight, std::uint32_t n, std::int32_t zero_point) {
    const auto length = static_cast<std::size_t>(weight.type.shape[1]);
    const auto from = weight.data.as<std::int8_t>().subspan(n * length, length);
    row.weights.insert(row.weights.end(), from.begin(), from.end());
    double sum = 0;
    for (const std::int8_t value : from) sum += value;
    return -zero_point * sum;
  }
  [[nodiscard]] double bias_of(const char* name, std::uint32_t n) const {
    if (!node_.has(name)) return 0;
    return double{evaluate::constant_tensor(*node_.tensor(name)).values()[n]};
  }

  const ir::Node& node_;
  const Geometry& geometry_;
  const std::int32_t finer_;
  const ir::Value &w_ih_, &w_hh_;
  const ir::QuantParams &x_, &h_;
  mutable double largest_ = 0;
};

using Rows = std::vector<std::vector<PackedRow>>;  // of each block, filled up to whole groups

// Filled up to whole groups with zeros.
void fill_up(std::vector<PackedRow>& rows, const Geometry& geometry, const Block& block) {
  rows.resize(std::size_t{geometry.groups(block)} * group_of(geometry.layout),
              {std::vector<std::int8_t>(block.length), 0, 0});
}

Rows rows_of(const Matrix& matrix, const Geometry& geometry) {
  Rows rows;
  for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
    const Block block = geometry.block(k);
    std::vector<PackedRow>& of_block = rows.emplace_back();
    for (std::uint32_t n = 0; n < block.rows; ++n) of_block.push_back(matrix.row(k, n));
    fill_up(of_block, geometry, block);
  }
  return rows;
}

double largest_factor(const Rows& rows) {
  double largest = 0;
  for (const std::vector<PackedRow>& block : rows) {
    for (const PackedRow& row : block) largest = std::max(largest, row.factor);
  }
  return largest;
}

// As many fractional bits for the input's parts of sums as int16 has room for, whatever the input is.
std::int32_t finer_parts(const ir::Node& node, const Geometry& geometry) {
  if (!multiplies_words(geometry.layout)) return 0;
  for (std::int32_t finer = kPartShift; finer > 0; --finer) {
    const Matrix matrix(node, geometry, finer);
    const Block block = geometry.block(0);
    bool fits = true;
    for (std::uint32_t n = 0; fits && n < block.rows; ++n) {
      const PackedRow row = matrix.row(0, n);
      fits = row.reach < 32767 && row.factor < 0.5 - 0x1p-30;
    }
    if (fits) return finer;
  }
  return 0;
}

bool can_pair(const std::vector<PackedRow>& rows) {
  for (std::size_t n = 0; n < rows.size(); n += 2) {
    std::int64_t first = 0, second = 0;
    for (std::size_t i = 0; i < rows[n].weights.size(); ++i) {
      const std::int32_t a = rows[n].weights[i], b = rows[n + 1].weights[i];
      if (!pairs_can_carry(a, b)) return false;
      first += std::abs(a);
      second += std::abs(b);
    }
    if (!pairs_can_carry(first) || !pairs_can_carry(second)) return false;
  }
  return true;
}

template <class T>
void put(std::vector<std::uint8_t>& packed, std::size_t at, T value) {
  std::memcpy(packed.data() + at, &value, sizeof(T));
}

void put_weight(std::vector<std::uint8_t>& packed, std::size_t at, Layout layout, std::uint32_t row,
                const std::vector<PackedRow>& rows, std::size_t n, std::size_t input) {
  const std::int32_t weight = rows[n].weights[input];
  switch (layout) {
    case Layout::scalar:
    case Layout::scalar_words:
      return put(packed, at, static_cast<std::uint8_t>(weight + 128));
    case Layout::dsp_pairs: {
      const bool borrows = row % 2 == 1 && rows[n - 1].weights[input] < 0;
      return put(packed, at, static_cast<std::int8_t>(weight - (borrows ? 1 : 0)));
    }
    case Layout::dsp_wide:
      return put(packed, at, static_cast<std::int16_t>(weight));
    case Layout::mve:
    case Layout::dsp_words:
    case Layout::mve_words:
      return put(packed, at, static_cast<std::int8_t>(weight));
  }
}

std::int32_t multiplier_of(double factor, Layout layout, std::uint8_t left) {
  if (multiplies_words(layout)) return 2 * static_cast<std::int32_t>(std::llround(std::ldexp(factor, 31)));
  return static_cast<std::int32_t>(std::llround(std::ldexp(factor, 31 - left)));
}

// The records of a block at `record`; returns where the next ones begin.
std::size_t put_records(std::vector<std::uint8_t>& packed, std::size_t record, const Geometry& geometry,
                        const Block& block, std::uint8_t left, const std::vector<PackedRow>& rows) {
  const std::uint32_t group = group_of(geometry.layout);
  for (std::size_t first = 0; first < rows.size(); first += group, record += geometry.record_bytes(block)) {
    const std::size_t weights = record + 4 * std::size_t{group}, multipliers = weights + geometry.weight_bytes(block);
    for (std::uint32_t n = 0; n < group; ++n) {
      const PackedRow& row = rows[first + n];
      put(packed, record + 4 * std::size_t{n}, row.bias);
      put(packed, multipliers + 4 * std::size_t{geometry.multiplier_slot(n)},
          multiplier_of(row.factor, geometry.layout, left));
      for (std::uint32_t i = 0; i < block.length; ++i) {
        put_weight(packed, weights + geometry.weight_index(block, n, i), geometry.layout, n, rows, first + n, i);
      }
    }
  }
  return record;
}

std::vector<std::uint8_t> pack(const Geometry& geometry, const PackedHeader& header, const Rows& rows) {
  std::vector<std::uint8_t> packed(geometry.bytes());
  put(packed, 0, header);
  std::size_t record = sizeof(PackedHeader);
  for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
    record = put_records(packed, record, geometry, geometry.block(k), header.left, rows[k]);
  }
  return packed;
}

std::vector<std::uint8_t> pack_projected(const Geometry& geometry, const PackedHeader& header, const Rows& rows,
                                         const std::vector<PackedRow>& projection) {
  std::vector<std::uint8_t> packed(geometry.projected_bytes());
  put(packed, 0, ProjectedHeader{header, static_cast<std::uint16_t>(geometry.outputs), 0});
  std::size_t record = sizeof(ProjectedHeader);
  for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
    record = put_records(packed, record, geometry, geometry.block(k), header.left, rows[k]);
  }
  put_records(packed, record, geometry.in_words(), geometry.projection(), 0, projection);
  return packed;
}

// h with 15 fractional bits to the states' integers.
void set_h_scale(PackedHeader& header, const ir::Node& node, const ir::QuantParams& quant) {
  double factor = kUnitScale / quant.scale();
  std::int32_t shift = 0;
  for (; factor < 0.5 && shift < 15; ++shift) factor *= 2;
  const auto multiplier = static_cast<std::int64_t>(std::llround(factor * 32768));
  if (multiplier > 32767 && shift == 0) {
    refuse(node, "the states of a recurrent layer are all close to zero", "check the calibration data");
  }
  header.h_multiplier = static_cast<std::int16_t>(std::min<std::int64_t>(multiplier, 32767));
  header.h_shift = static_cast<std::int8_t>(shift);
  header.h_zero_point = static_cast<std::int8_t>(quant.zero_point());
}

bool is_bytes(const ir::Value* value) {
  const auto& quant = value->type.quant;
  return value->type.dtype == DType::i8 && quant && !quant->per_channel() && quant->qmin == -128 && quant->qmax == 127;
}
bool is_words(const ir::Value* value) {
  const auto& quant = value->type.quant;
  return value->type.dtype == DType::i16 && quant && !quant->per_channel() && quant->zero_point() == 0;
}
bool is_words(const ir::Value* value, double scale) { return is_words(value) && value->type.quant->scale() == scale; }
bool are_weights(const ir::Value* value) {
  return value->type.dtype == DType::i8 && value->type.quant &&
         std::ranges::all_of(value->type.quant->zero_points, [](std::int32_t zero) { return zero == 0; });
}

bool has_finer_cell(const ir::Node& node, Kind kind) {
  return kind == Kind::lstm && has_words(node) && is_words(node.results.at(1), kCellScale / 2);
}

void check_types(const ir::Node& node, Kind kind) {
  const ir::Value *states = node.results.at(0), *h = node.tensor("h"), *c = node.tensor("c");
  const double cell = has_finer_cell(node, kind) ? kCellScale / 2 : kCellScale;
  const double scale = kind == Kind::lstm ? cell : kUnitScale;
  const bool own_h = keeps_own_h(node);
  bool fits = has_words(node) ? is_words(node.tensor("input")) && is_words(states) &&
                                    (own_h || states->type.quant->scale() == kUnitScale)
                              : is_bytes(node.tensor("input")) && is_bytes(states);
  fits = fits && are_weights(node.tensor("w_ih")) && are_weights(node.tensor("w_hh"));
  if (node.has("w_hr")) fits = fits && are_weights(node.tensor("w_hr"));
  if (node.results.size() > 1) fits = fits && is_words(node.results.at(1), scale);
  const bool is_as_states = own_h || kind == Kind::lstm;
  if (h != nullptr) fits = fits && (is_as_states ? h->type.quant == states->type.quant : is_words(h, scale));
  if (c != nullptr) fits = fits && is_words(c, scale);
  if (!fits) {
    refuse(node, "a recurrent layer's tensors are quantized in a way its kernels do not support",
           "let the compiler quantize the model");
  }
}

Layout layout_for(const Target& target, bool words) {
  if (target.is_any() || target.isa == Isa::scalar) return words ? Layout::scalar_words : Layout::scalar;
  if (target.isa == Isa::dsp) return words ? Layout::dsp_words : Layout::dsp_pairs;
  return words ? Layout::mve_words : Layout::mve;
}
struct Names {
  const char *plain, *relu, *projected;
};
#define CORMORANT_NAMES_FOR(layout)                                                          \
  case Layout::layout:                                                                       \
    return {names::cormorant_recurrent_##layout, names::cormorant_recurrent_##layout##_relu, \
            names::cormorant_recurrent_##layout##_projected};
Names names_for(Layout layout) {
  switch (layout) {
    CORMORANT_NAMES_FOR(scalar)
    CORMORANT_NAMES_FOR(dsp_pairs)
    CORMORANT_NAMES_FOR(dsp_wide)
    CORMORANT_NAMES_FOR(mve)
    CORMORANT_NAMES_FOR(scalar_words)
    CORMORANT_NAMES_FOR(dsp_words)
    CORMORANT_NAMES_FOR(mve_words)
  }
  return {};
}
#undef CORMORANT_NAMES_FOR

// Of the weights of h, whose columns are its elements: as many as units, but for a projection.
std::uint32_t units_of(const ir::Node& node) {
  return static_cast<std::uint32_t>(node.tensor(node.has("w_hr") ? "w_hr" : "w_hh")->type.shape[1]);
}

std::vector<PackedRow> projection_of(const ir::Node& node, const Matrix& matrix, const Geometry& geometry) {
  const Block block = geometry.projection();
  std::vector<PackedRow> rows;
  for (std::uint32_t n = 0; n < block.rows; ++n) rows.push_back(matrix.projection(*node.tensor("w_hr"), n));
  fill_up(rows, geometry.in_words(), block);
  return rows;
}

}  // namespace

std::optional<Kind> kind_of(const ir::Node& node) {
  const std::string& name = node.string("kind");
  if (name == "lstm") return Kind::lstm;
  if (name == "gru") return Kind::gru;
  if (name == "rnn_tanh") return Kind::rnn;
  if (name == "rnn_relu") return Kind::rnn_relu;
  return std::nullopt;
}

bool keeps_own_h(const ir::Node& node) { return node.has("w_hr") || kind_of(node) == Kind::rnn_relu; }

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const Kind kind = *kind_of(node);
  check_types(node, kind);
  const ir::TensorType& states = node.results.at(0)->type;
  Geometry geometry{kind, layout_for(rewriter.config.target, has_words(node)),
                    static_cast<std::uint32_t>(node.tensor("input")->type.shape[2]), units_of(node),
                    static_cast<std::uint32_t>(states.shape[2])};
  const std::int32_t finer = finer_parts(node, geometry);
  const Matrix matrix(node, geometry, finer);
  const Rows rows = rows_of(matrix, geometry);
  if (geometry.layout == Layout::dsp_pairs && !std::ranges::all_of(rows, can_pair)) geometry.layout = Layout::dsp_wide;
  const std::uint8_t left = matrix.left(largest_factor(rows));
  PackedHeader header{.inputs = static_cast<std::uint16_t>(geometry.inputs),
                      .units = static_cast<std::uint16_t>(geometry.units),
                      .kind = static_cast<std::uint8_t>(kind),
                      .layout = static_cast<std::uint8_t>(geometry.layout),
                      .flags = static_cast<std::uint8_t>((node.boolean("backwards") ? kBackwards : 0) |
                                                         (has_finer_cell(node, kind) ? kFinerCell : 0)),
                      .left = multiplies_words(geometry.layout) ? static_cast<std::uint8_t>(finer) : left,
                      .h_multiplier = 0,
                      .h_shift = 0,
                      .h_zero_point = 0};
  if (keeps_own_h(node)) {
    header.h_zero_point = static_cast<std::int8_t>(states.quant->zero_point());
  } else if (!has_words(node)) {
    set_h_scale(header, node, *states.quant);
  }
  const std::vector<std::uint8_t> packed =
      node.has("w_hr") ? pack_projected(geometry, header, rows, projection_of(node, matrix, geometry))
                       : pack(geometry, header, rows);
  ir::Value* constant = rewriter.constant(
      "packed", {.dtype = DType::i8, .shape = {static_cast<std::int64_t>(packed.size())}, .dim_order = {}, .quant = {}},
      std::span<const std::uint8_t>(packed));
  if (kind == Kind::rnn_relu) {
    const ReluRecurrent<HostWorld> call{.input = node.tensor("input"),
                                        .h = {node.tensor("h")},
                                        .packed = constant,
                                        .scratch = {.bytes = geometry.scratch_bytes()}};
    return make_node(rewriter.graph, call, {states}, node.name, node.location, &rewriter.node,
                     names_for(geometry.layout).relu)
        ->result();
  }
  const Recurrent<HostWorld> call{.input = node.tensor("input"),
                                  .h = {node.tensor("h")},
                                  .c = {node.tensor("c")},
                                  .packed = constant,
                                  .scratch = {.bytes = geometry.scratch_bytes()}};
  const Names names = names_for(geometry.layout);
  return make_node(rewriter.graph, call, {states, node.results.at(1)->type}, node.name, node.location, &rewriter.node,
                   node.has("w_hr") ? names.projected : names.plain)
      ->result();
}

}  // namespace cormorant::ops::recurrent
