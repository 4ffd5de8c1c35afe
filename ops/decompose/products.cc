// SPDX-License-Identifier: Apache-2.0
//
// Products of tensors that become matrix products, or products of elements and a sum.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/decompose/forms.h"
#include "ops/host/broadcast.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

std::int64_t size_of_letters(const std::string& letters, const ir::Value* value, const std::string& which) {
  std::int64_t n = 1;
  for (const char letter : which) n *= size_at(value, static_cast<std::int64_t>(letters.find(letter)));
  return n;
}

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

// A tensor whose dimensions have names.
struct Named {
  V value;
  std::string letters;
};

V arranged(const Build& b, const Named& x, const std::string& order) {
  Dims dims;
  for (const char letter : order) dims.push_back(static_cast<std::int64_t>(x.letters.find(letter)));
  return b.permute(x.value, dims);
}

// Sums over dimensions that nothing else needs.
Named summed(const Build& b, Named x, const std::string& kept) {
  Dims dims;
  std::string left;
  ir::Shape shape;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    if (has(kept, x.letters[i])) {
      left += x.letters[i];
      shape.push_back(x.value->type.shape[i]);
    } else {
      dims.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (dims.empty()) return x;
  return {b.view(b.sum(x.value, dims), shape), left};
}

// A letter that appears twice: the diagonal.
Named without_repetition(const Build& b, Named x) {
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const std::size_t j = x.letters.find(x.letters[i], i + 1);
    if (j == std::string::npos) continue;
    const std::int64_t n = x.value->type.shape[i];
    Dims order;
    std::string letters;
    ir::Shape shape;
    for (std::size_t k = 0; k < x.letters.size(); ++k) {
      if (k == i || k == j) continue;
      order.push_back(static_cast<std::int64_t>(k));
      letters += x.letters[k];
      shape.push_back(x.value->type.shape[k]);
    }
    order.push_back(static_cast<std::int64_t>(i));
    order.push_back(static_cast<std::int64_t>(j));
    shape.push_back(n * n);
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < n; ++k) places.push_back(k * n + k);
    V flat = b.view(b.permute(x.value, order), shape);
    V diagonal = b.index_select(flat, rank_of(flat) - 1, b.indices(places));
    return without_repetition(b, {diagonal, letters + x.letters[i]});
  }
  return x;
}

// Both to a common size if one of them repeats.
void broadcast_letters(const Build& b, Named& x, Named& y) {
  const auto widen = [&](Named& narrow, const Named& wide) {
    ir::Shape shape = narrow.value->type.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t at = wide.letters.find(narrow.letters[i]);
      if (at != std::string::npos && shape[i] == 1) shape[i] = wide.value->type.shape[at];
    }
    narrow.value = b.expand(narrow.value, shape);
  };
  widen(x, y);
  widen(y, x);
}

Named contracted(const Build& b, Named x, Named y, const std::string& kept) {
  broadcast_letters(b, x, y);
  std::string batch, inner, rows, columns;
  for (const char letter : x.letters) {
    const bool shared = has(y.letters, letter);
    (shared ? (has(kept, letter) ? batch : inner) : rows) += letter;
  }
  for (const char letter : y.letters) {
    if (!has(x.letters, letter)) columns += letter;
  }
  const std::int64_t batches = size_of_letters(x.letters, x.value, batch);
  const std::int64_t m = size_of_letters(x.letters, x.value, rows), k = size_of_letters(x.letters, x.value, inner);
  const std::int64_t n = size_of_letters(y.letters, y.value, columns);
  ir::Shape shape;
  const std::string letters = batch + rows + columns;
  for (const char letter : letters) {
    const Named& from = has(x.letters, letter) ? x : y;
    shape.push_back(size_at(from.value, static_cast<std::int64_t>(from.letters.find(letter))));
  }
  if (batches * m * n * k == 0) return {b.filled(0, ir::float_type(shape)), letters};  // sums of nothing
  V left = b.view(arranged(b, x, batch + rows + inner), {batches, m, k});
  V product = nullptr;
  if (batch.empty() && y.value->kind == ir::ValueKind::constant) {  // a layer, whose weights may be quantized
    product = b.node(nodes::aten_linear, {{"input", b.view(left, {m, k})},
                                          {"weight", b.view(arranged(b, y, columns + inner), {n, k})},
                                          {"bias", ir::None{}}});
  } else {
    V right = b.view(arranged(b, y, batch + columns + inner), {batches, n, k});
    product = b.node(nodes::aten_bmm, {{"self", left}, {"mat2", right}, {"transposed", true}, {"scale", 1.0}});
  }
  return {b.view(product, shape), letters};
}

// "bqd,bkd->bqk", with "..." for any dimensions and without a result for the letters that appear once, sorted.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

Equation parse_equation(const Build& b, std::string text, const std::vector<V>& tensors) {
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Equation e;
  for (std::size_t at = 0; at <= left.size();) {
    const std::size_t comma = std::min(left.find(',', at), left.size());
    e.operands.push_back(left.substr(at, comma - at));
    at = comma + 1;
  }
  if (e.operands.size() != tensors.size()) b.reject("einsum '" + text + "' does not fit its operands", {});
  // Digits stand for the dimensions of an ellipsis, the last of which is '9'.
  const auto expanded = [&](const std::string& letters, std::size_t count) {
    const std::size_t dots = letters.find("...");
    if (dots == std::string::npos) return letters;
    std::string digits;
    for (std::size_t i = 0; i < count; ++i) digits += static_cast<char>('9' - static_cast<int>(count - 1 - i));
    return letters.substr(0, dots) + digits + letters.substr(dots + 3);
  };
  std::size_t most = 0;
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    std::string& letters = e.operands[i];
    const bool has_dots = has(letters, '.');
    b.require(!has_dots || letters.find("...") != std::string::npos);
    const std::size_t named = letters.size() - (has_dots ? 3 : 0);
    const std::size_t rank = tensors[i]->type.rank();
    if (rank < named || (!has_dots && rank != named)) b.reject("einsum '" + text + "' does not fit its operands", {});
    if (has_dots) most = std::max(most, rank - named);
    letters = expanded(letters, rank - named);
  }
  if (arrow != std::string::npos) {
    e.result = expanded(text.substr(arrow + 2), most);
    return e;
  }
  std::string all;
  for (const std::string& letters : e.operands) all += letters;
  std::string once;
  for (const char letter : all) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!has(once, letter) && (is_digit || std::ranges::count(all, letter) == 1)) once += letter;
  }
  std::ranges::sort(once);  // digits, so an ellipsis, come first
  e.result = once;
  return e;
}

V einsum(const Build& b, const Equation& e, const std::vector<V>& tensors) {
  Named sum{};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::string later = e.result;
    for (std::size_t j = i + 1; j < tensors.size(); ++j) later += e.operands[j];
    Named next = without_repetition(b, {b.real(tensors[i]), e.operands[i]});
    if (i == 0) {
      sum = summed(b, next, later);
    } else {
      next = summed(b, next, later + sum.letters);
      sum = summed(b, sum, later + next.letters);
      sum = contracted(b, sum, next, later);
    }
  }
  return arranged(b, sum, e.result);
}

Values import_einsum(Importer& importer) {
  const Build b(importer);
  const std::vector<V>& tensors = b.call().tensors("tensors");
  return {b.finish(einsum(b, parse_equation(b, b.call().string("equation"), tensors), tensors))};
}

// ---- named products -------------------------------------------------------------------------------------------------

Values import_tensordot(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V other = b.tensor("other");
  std::string left(self->type.rank(), ' '), right(other->type.rank(), ' '), result;
  char next = 'a';
  const auto& a = b.call().integers("dims_self");
  const auto& c = b.call().integers("dims_other");
  b.require(a.size() == c.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char letter = next++;
    left[static_cast<std::size_t>(dim_argument(importer, a[i], self->type.rank()))] = letter;
    right[static_cast<std::size_t>(dim_argument(importer, c[i], other->type.rank()))] = letter;
  }
  for (std::string* letters : {&left, &right}) {
    for (char& letter : *letters) {
      if (letter == ' ') result += letter = next++;
    }
  }
  return {b.finish(einsum(b, {{left, right}, result}, {self, other}))};
}
Values import_outer(Importer& importer) {
  const Build b(importer);
  V vector = b.tensor("vec2");
  return {b.finish(b.mul(b.unsqueeze(b.tensor("self"), 1), vector))};
}
Values import_inner(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V other = b.tensor("other");
  if (self->type.rank() == 0 || other->type.rank() == 0) return {b.finish(b.mul(self, other))};
  std::string left = "a", right = "a", result;
  char next = 'b';
  for (std::int64_t i = 1; i < rank_of(self); ++i) left.insert(left.end() - 1, next++);
  for (std::int64_t i = 1; i < rank_of(other); ++i) right.insert(right.end() - 1, next++);
  result = left.substr(0, left.size() - 1) + right.substr(0, right.size() - 1);
  return {b.finish(einsum(b, {{left, right}, result}, {self, other}))};
}
Values import_vdot(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.sum(b.mul(b.tensor("self"), b.tensor("other")), {0}))};
}
// Each element of one times all of the other.
Values import_kron(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V other = b.tensor("other");
  while (rank_of(self) < rank_of(other)) self = b.unsqueeze(self, 0);
  while (rank_of(other) < rank_of(self)) other = b.unsqueeze(other, 0);
  if (self->type.rank() == 0) return {b.finish(b.mul(self, other))};
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  // One dimension at a time, so that rank stays small: the first of self by the first of other, and so on.
  const std::int64_t rank = rank_of(self);
  const std::int64_t m = self->type.elements(), n = other->type.elements();
  b.require(m * n == b.type().elements());
  V column = b.view(self, {m, 1});
  V row = b.view(other, {1, n});
  V product = b.mul(column, row);
  // [a0 a1 … b0 b1 …] -> [a0 b0 a1 b1 …]
  std::vector<std::int64_t> places;
  const ir::Shape s = self->type.shape, o = other->type.shape;
  ir::Shape whole(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = s[i] * o[i];
  for (std::int64_t at = 0; at < m * n; ++at) {
    std::int64_t rest = at, a = 0, c = 0, a_step = 1, c_step = 1;
    for (std::size_t d = whole.size(); d-- > 0;) {
      const std::int64_t place = rest % whole[d];
      rest /= whole[d];
      a += place / o[d] * a_step;
      c += place % o[d] * c_step;
      a_step *= s[d];
      c_step *= o[d];
    }
    places.push_back(a * n + c);
  }
  return {b.finish(b.view(b.index_select(b.view(product, {m * n}), 0, places), whole))};
}
V scaled(const Build& b, V x, const char* factor) { return b.mul(x, b.operand(factor, x->type.dtype)); }

// beta · self + alpha · product; with beta 0 whatever self holds is ignored.
Values sum_of(const Build& b, V product) {
  product = scaled(b, product, "alpha");
  if (b.call().number("beta") == 0) return {b.finish(product)};
  return {b.finish(b.add(scaled(b, b.tensor("self"), "beta"), product))};
}
Values import_addmv(Importer& importer) {
  const Build b(importer);
  V matrix = b.tensor("mat");
  V column = b.matmul(matrix, b.unsqueeze(b.tensor("vec"), 1));
  return sum_of(b, b.view(column, {size_at(matrix, 0)}));
}
Values import_addr(Importer& importer) {
  const Build b(importer);
  return sum_of(b, b.mul(b.unsqueeze(b.tensor("vec1"), 1), b.tensor("vec2")));
}
Values import_addbmm(Importer& importer) {
  const Build b(importer);
  V product = b.sum(b.matmul(b.tensor("batch1"), b.tensor("batch2")), {0});
  return sum_of(b, b.squeeze(product, 0));
}
// [..., i] · [o, i, j] · [..., j]
Values import_bilinear(Importer& importer) {
  const Build b(importer);
  V x = b.tensor("input1");
  V y = b.tensor("input2");
  V weight = b.tensor("weight");
  const std::int64_t outputs = size_at(weight, 0), i = size_at(weight, 1), j = size_at(weight, 2);
  b.require(i > 0);
  const std::int64_t rows = x->type.elements() / i;
  V first = b.view(x, {rows, i});
  V second = b.view(b.permute(weight, {1, 0, 2}), {i, outputs * j});
  V left = b.view(b.matmul(first, second), {rows, outputs, j});
  V right = b.view(y, {rows, 1, j});
  V product = b.mul(left, right);
  V sum = b.view(b.sum(product, {2}), {rows, outputs});
  if (b.given("bias")) sum = b.add(sum, b.tensor("bias"));
  return {b.finish(sum)};
}
Values import_cross(Importer& importer) {
  const Build b(importer);
  V product = b.mul(b.tensor("self"), b.tensor("other"));  // for the common shape alone
  const ir::Shape shape = product->type.shape;
  V self = b.expand(b.tensor("self"), shape);
  V other = b.expand(b.tensor("other"), shape);
  std::int64_t dim = 0;
  if (b.given("dim")) {
    dim = b.dim("dim", shape.size());
  } else {  // the first of size 3
    dim = std::ranges::find(shape, 3) - shape.begin();
  }
  const auto turned = [&](V x, std::int64_t by) {
    return b.cat({b.slice(x, dim, by, 3), b.slice(x, dim, 0, by)}, dim);
  };
  const auto multiplied = [&](std::int64_t self_by, std::int64_t other_by) {
    V left = turned(self, self_by);
    V right = turned(other, other_by);
    return b.mul(left, right);
  };
  V minuend = multiplied(1, 2);
  V subtrahend = multiplied(2, 1);
  return {b.finish(b.sub(minuend, subtrahend))};
}

// Frames of a signal times a window, cosines and sines: a convolution with a filter for each real and imaginary part.
Values import_stft(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t size = b.call().integer("n_fft");
  const std::int64_t hop = b.given("hop_length") ? b.call().integer("hop_length") : size / 4;
  const std::int64_t width = b.given("win_length") ? b.call().integer("win_length") : size;
  const bool onesided = !b.given("onesided") || b.call().boolean("onesided");
  constexpr std::int64_t kLargest = 1 << 14;
  b.require(self->type.rank() >= 1 && size > 0 && size <= kLargest && hop > 0 && width > 0 && width <= size &&
            b.type().rank() == self->type.rank() + 2);
  if (b.given("return_complex") && b.call().boolean("return_complex")) {
    b.reject("stft with a complex result", "call torch.stft with return_complex=False");
  }
  std::vector<double> window(static_cast<std::size_t>(size), 0);
  const std::int64_t left = (size - width) / 2;
  std::fill_n(window.begin() + left, width, 1.0);
  if (b.given("window")) {
    const auto known = b.numbers_of(b.tensor("window"));
    if (!known) b.reject("stft with a window that is computed", "make the window a buffer of the model");
    b.require(static_cast<std::int64_t>(known->size()) == width);
    std::ranges::copy(*known, window.begin() + left);
  }
  const double scale = b.call().boolean("normalized") ? 1 / std::sqrt(static_cast<double>(size)) : 1;
  const std::int64_t frequencies = onesided ? size / 2 + 1 : size;
  b.require_moderate(ir::float_type({2 * frequencies, size}));
  std::vector<float> filters;
  for (std::int64_t f = 0; f < frequencies; ++f) {
    for (const bool is_real : {true, false}) {
      for (std::int64_t n = 0; n < size; ++n) {
        const double turn = 2 * std::numbers::pi * static_cast<double>(f * n % size) / static_cast<double>(size);
        const double wave = is_real ? std::cos(turn) : -std::sin(turn);
        const bool is_zero = std::abs(wave) < 1e-12;  // of a half turn, whose sine is not quite that
        filters.push_back(is_zero ? 0.0F : static_cast<float>(wave * window[static_cast<std::size_t>(n)] * scale));
      }
    }
  }
  const std::int64_t length = self->type.shape.back(), signals = length == 0 ? 0 : self->type.elements() / length;
  V parts = b.node(nodes::aten_conv2d, {{"input", b.view(self, {signals, 1, 1, length})},
                                        {"weight", b.floats({2 * frequencies, 1, 1, size}, filters)},
                                        {"bias", ir::None{}},
                                        {"stride", Dims{1, hop}},
                                        {"padding", Dims{0, 0}},
                                        {"dilation", Dims{1, 1}},
                                        {"groups", std::int64_t{1}}});
  const std::int64_t frames = size_at(parts, 3);
  return {b.finish(b.permute(b.view(parts, {signals, frequencies, 2, frames}), {0, 1, 3, 2}))};
}

}  // namespace

std::vector<AtenForm> product_decompositions() {
  return {
      {"einsum.default(str equation, Tensor[] tensors, *, int[]? path=None)", import_einsum},
      {"tensordot.default(Tensor self, Tensor other, int[] dims_self, int[] dims_other)", import_tensordot},
      {"outer.default(Tensor self, Tensor vec2)", import_outer},
      {"ger.default(Tensor self, Tensor vec2)", import_outer},
      {"inner.default(Tensor self, Tensor other)", import_inner},
      {"vdot.default(Tensor self, Tensor other)", import_vdot},
      {"kron.default(Tensor self, Tensor other)", import_kron},
      {"addmv.default(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)", import_addmv},
      {"addr.default(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)", import_addr},
      {"addbmm.default(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", import_addbmm},
      {"bilinear.default(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", import_bilinear},
      {"stft.default(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
       "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None)",
       import_stft},
      {"cross.default(Tensor self, Tensor other, int? dim=None)", import_cross},
      {"linalg_cross.default(Tensor self, Tensor other, *, int dim=-1)", import_cross},
  };
}

}  // namespace cormorant::ops
