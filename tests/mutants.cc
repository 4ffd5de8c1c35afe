// SPDX-License-Identifier: Apache-2.0
#include "tests/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <memory>
#include <random>

#include "formats/pt2/zip_builder.h"

namespace cormorant::tests {
namespace {

// input and constants, node: results = op(arguments)
std::string graph_of(const std::string& values, const std::string& node) {
  return fmt::format("graph forward\n{}node \"n\" \"layer\" \"net.py:1\"\n  {}\noutput %y\n", values, node);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-'; }

struct Token {
  std::size_t begin, end;
};

// Words and numbers of a line; with a preceding % if there is one.
std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    tokens.push_back({i > 0 && text[i - 1] == '%' ? i - 1 : i, end});
    i = end;
  }
  return tokens;
}

bool is_number(const std::string& token) {
  return std::isdigit(static_cast<unsigned char>(token.front())) != 0 || (token.front() == '-' && token.size() > 1);
}

std::vector<std::string> replacements_for(const std::string& token) {
  if (is_number(token)) {
    return {"0",
            "-1",
            "1",
            "2",
            "3",
            "7",
            "65536",
            "2147483647",
            "-2147483648",
            "2147483648",
            "9223372036854775807",
            "1e30",
            "nan",
            "inf",
            "none",
            "true"};
  }
  if (token.front() == '%') return {"%x", "none", "3", "{%x, %x}"};
  if (token == "true" || token == "false") return {"false", "true", "1", "none"};
  if (token == "none") return {"%x", "0", "[1, 2]"};
  return {"f64", "i8", "nonsense"};
}

std::string replaced(const std::string& text, std::size_t begin, std::size_t end, const std::string& by) {
  return text.substr(0, begin) + by + text.substr(end);
}

// Arguments are between "(" and ")" as name=value, values with commas in brackets.
void mutate_arguments(const std::string& text, std::vector<std::string>& mutants) {
  const std::size_t equals = text.find(" = ", text.find("\nnode "));
  const std::size_t open = text.find('(', equals);
  std::vector<Token> arguments;
  int depth = 0;
  std::size_t begin = open + 1;
  std::size_t i = open + 1;
  for (; i < text.size() && (depth > 0 || text[i] != ')'); ++i) {
    if (text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ']' || text[i] == '}') --depth;
    if (text[i] == ',' && depth == 0) {
      arguments.push_back({begin, i});
      begin = i + 1;
    }
  }
  arguments.push_back({begin, i});
  for (const Token& argument : arguments) {
    const std::size_t value = text.find('=', argument.begin) + 1;
    for (const char* by : {"[]", "[1]", "[1, 1, 1]", "[-1, 2]", "{}", "\"text\"", "dtype.f32", "floats[1.0]"}) {
      mutants.push_back(replaced(text, value, argument.end, by));
    }
    const bool is_last = argument.end == i;
    if (arguments.size() > 1) {  // left out
      mutants.push_back(
          replaced(text, is_last ? argument.begin - 1 : argument.begin, is_last ? argument.end : argument.end + 1, ""));
    }
    mutants.push_back(
        replaced(text, argument.begin, argument.begin, text.substr(argument.begin, value - argument.begin) + "0, "));
  }
}

pt2::TensorMeta meta_of(const std::vector<std::int64_t>& sizes, DType dtype = DType::f32) {
  pt2::TensorMeta meta{dtype, sizes, std::vector<std::int64_t>(sizes.size(), 1), 0};
  for (std::size_t i = sizes.size(); i-- > 1;) meta.strides[i - 1] = meta.strides[i] * sizes[i];
  return meta;
}

class CallMaker {
 public:
  explicit CallMaker(unsigned seed) : random_(seed) {}

  pt2::Program make(const ops::Schema& schema) {
    for (const char* name : {"x", "y", "z"}) add_tensor(name, pt2::InputKind::user_input);
    for (const char* name : {"c", "d"}) add_tensor(name, pt2::InputKind::buffer);
    pt2::Node node;
    node.target = "torch.ops." + schema.target();
    node.name = "call";
    for (const ops::SchemaArgument& argument : schema.arguments) {
      if (argument.fallback && one_in(2)) continue;
      node.arguments.push_back({argument.name, {value(one_in(8) ? "any" : argument.type)}, {}});
    }
    const int results = one_in(4) ? 3 : 1;
    for (int i = 0; i < results; ++i) {
      const std::string name = fmt::format("r{}", i);
      node.outputs.push_back({pt2::TensorRef{name}});
      program_.graph.tensors[name] = meta_of(shape());
    }
    program_.graph.nodes.push_back(node);
    program_.graph.outputs.push_back({pt2::TensorRef{"r0"}});
    program_.outputs.push_back({pt2::OutputKind::user_output, {pt2::TensorRef{"r0"}}, "r0", "", {}});
    return std::move(program_);
  }

 private:
  bool one_in(unsigned n) { return random_() % n == 0; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }
  std::vector<std::int64_t> shape() {
    static const std::vector<std::vector<std::int64_t>> kShapes = {
        {1, 4, 6, 6}, {1, 4, 6, 6}, {4},       {4, 4},       {4, 4, 3, 3},   {2, 3},
        {},           {0, 4},       {1, 4, 8}, {1, 4, 1, 1}, {1, 1, 1, 1, 4}};
    return pick(kShapes);
  }
  std::int64_t integer() {
    static const std::vector<std::int64_t> kIntegers = {0,
                                                        1,
                                                        1,
                                                        2,
                                                        2,
                                                        3,
                                                        4,
                                                        -1,
                                                        -2,
                                                        7,
                                                        255,
                                                        65536,
                                                        0x7fffffff,
                                                        0x80000000,
                                                        std::numeric_limits<std::int64_t>::max(),
                                                        std::numeric_limits<std::int64_t>::min()};
    return pick(kIntegers);
  }
  double real() {
    static const std::vector<double> kReals = {0, 1, 0.5, -1, 1e-5, 1e30, 1e300, NAN, INFINITY};
    return pick(kReals);
  }
  pt2::TensorRef tensor() { return {pick<std::string>({"x", "y", "z", "c", "d", "x", "c"})}; }

  pt2::Argument::Value value(std::string type) {
    if (type == "any")
      type = pick<std::string>({"Tensor", "int", "int[]", "float", "bool", "str", "None", "Tensor[]", "ScalarType"});
    if (type.ends_with('?')) {
      if (one_in(2)) return pt2::None{};
      type.pop_back();
    }
    const std::size_t bracket = type.find('[');
    const std::string element = type.substr(0, bracket);
    if (bracket == std::string::npos) {
      if (element == "Tensor") return tensor();
      if (element == "int") return integer();
      if (element == "float") return real();
      if (element == "Scalar") return one_in(2) ? pt2::Argument::Value{real()} : pt2::Argument::Value{integer()};
      if (element == "bool") return one_in(2);
      if (element == "str")
        return pick<std::string>(
            {"none", "tanh", "same", "valid", "ij,jk->ik", "i,j->ij", "ii,->", "constant", "reflect", ""});
      if (element == "ScalarType") return pt2::ScalarType{7, DType::f32};
      return pt2::None{};
    }
    std::size_t count = random_() % 5;
    if (bracket + 1 < type.size() && type[bracket + 1] != ']' && !one_in(6))
      count = static_cast<std::size_t>(type[bracket + 1] - '0');
    if (element == "Tensor") {
      std::vector<pt2::TensorRef> list;
      for (std::size_t i = 0; i < count; ++i) list.push_back(tensor());
      return list;
    }
    if (element == "float") {
      std::vector<double> list;
      for (std::size_t i = 0; i < count; ++i) list.push_back(real());
      return list;
    }
    std::vector<std::int64_t> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(integer());
    return list;
  }

  void add_tensor(const std::string& name, pt2::InputKind kind) {
    const std::vector<std::int64_t> sizes = shape();
    program_.graph.tensors[name] = meta_of(sizes);
    program_.graph.inputs.push_back({pt2::TensorRef{name}});
    program_.inputs.push_back({kind, {pt2::TensorRef{name}}, name, kind == pt2::InputKind::buffer ? name : "", true});
    if (kind != pt2::InputKind::buffer) return;
    const bool integers = one_in(3);
    if (integers) program_.graph.tensors[name].dtype = DType::i64;
    std::size_t bytes = integers ? 8 : 4;
    for (const std::int64_t size : sizes) bytes *= static_cast<std::size_t>(size);
    auto storage = std::make_shared<std::vector<std::byte>>(bytes);
    for (std::size_t i = 0; i < bytes; i += 8) (*storage)[i] = static_cast<std::byte>(random_() % 5);
    program_.weights[name] = {program_.graph.tensors[name], false, *storage, storage};
  }

  std::mt19937 random_;
  pt2::Program program_;
};

}  // namespace

const ir::Bytes& blob() {
  static const ir::Bytes bytes = [] {
    std::mt19937 random(1);
    std::vector<float> values(2048);
    for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
    return ir::Bytes::of(std::span<const float>(values));
  }();
  return bytes;
}

std::vector<std::string> operator_graphs() {
  const std::string image = "input %x : f32[1,4,6,6]\n", rows = "input %x : f32[2,3,8]\n";
  const std::string second = image + "input %b : f32[1,4,1,1]\n";
  const auto unary = [&](const char* result, const char* call) {
    return graph_of(image, fmt::format("%y : f32[{}] = aten.{}", result, call));
  };
  const std::string indices = "const %i : i64[2] = [3, 1]\n";
  const auto scatter = [&](const char* op) {
    return graph_of("input %x : f32[3,2]\ninput %s : f32[2,2]\nconst %i : i64[2,2] = [0, 2, 1, 9]\n",
                    fmt::format("%y : f32[3,2] = {}(self=%x, dim=0, index=%i, src=%s)", op));
  };
  const std::string norm = "const %m : f32[4] = [0.1, 0.2, 0.3, 0.4]\nconst %v : f32[4] = [1.0, 2.0, 0.5, 0.25]\n";
  return {
      graph_of(image + "const %w : f32[4,2,3,3] = data 0 288\nconst %b : f32[4] = [0.1, 0.2, 0.3, 0.4]\n",
               "%y : f32[1,4,3,3] = aten.conv2d(input=%x, weight=%w, bias=%b, stride=[2, 2], padding=[1, 1], "
               "dilation=[1, 1], groups=2)"),
      graph_of(image + "const %w : f32[4,1,3,3] = data 0 144\n",
               "%y : f32[1,4,4,4] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], "
               "dilation=[1, 1], groups=4)"),
      graph_of(image + "const %w : f32[4,2,3,3] = data 0 288\n",
               "%y : f32[1,2,12,12] = aten.conv_transpose2d(input=%x, weight=%w, bias=none, stride=[2, 2], padding=[1, "
               "1], output_padding=[1, 1], groups=1, dilation=[1, 1])"),
      graph_of(rows + "const %w : f32[5,8] = data 0 160\nconst %b : f32[5] = data 160 20\n",
               "%y : f32[2,3,5] = aten.linear(input=%x, weight=%w, bias=%b)"),
      graph_of(rows + "input %b : f32[2,4,8]\n",
               "%y : f32[2,3,4] = aten.bmm(self=%x, mat2=%b, transposed=true, scale=0.5)"),
      graph_of(rows + "input %b : f32[1,4,8]\n",
               "%y : f32[2,3,4] = aten.bmm(self=%x, mat2=%b, transposed=true, scale=1.0)"),
      graph_of(rows + "const %b : f32[1,8,4] = data 0 128\n",
               "%y : f32[2,3,4] = aten.bmm(self=%x, mat2=%b, transposed=false, scale=1.0)"),
      graph_of(second, "%y : f32[1,4,6,6] = aten.add(self=%x, other=%b, alpha=-0.5)"),
      graph_of(second, "%y : f32[1,4,6,6] = aten.mul(self=%x, other=%b)"),
      graph_of(second, "%y : f32[1,4,6,6] = aten.div(self=%x, other=%b)"),
      graph_of(second, "%y : f32[1,4,6,6] = aten.minimum(self=%x, other=%b)"),
      graph_of(second, "%y : f32[1,4,6,6] = aten.maximum(self=%x, other=%b)"),
      unary("1,4,6,6", "clamp(self=%x, min=0.0, max=6.0)"),
      unary("1,4,6,6", "elu(self=%x, alpha=1.0, scale=1.0, input_scale=1.0)"),
      unary("1,4,6,6", "gelu(self=%x, approximate=\"tanh\")"),
      unary("1,4,6,6", "pow(self=%x, exponent=2.0)"),
      unary("1,4,6,6", "round_decimals(self=%x, decimals=2)"),
      unary("1,4,3,3",
            "avg_pool2d(self=%x, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], ceil_mode=false, "
            "count_include_pad=true, divisor_override=none)"),
      unary("1,4,4,4", "adaptive_avg_pool2d(self=%x, output_size=[4, 4])"),
      unary("1,4,3,3",
            "max_pool2d(self=%x, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1], "
            "ceil_mode=false)"),
      graph_of(image + norm,
               "%y : f32[1,4,6,6] = aten.batch_norm(input=%x, weight=%m, bias=none, running_mean=%m, running_var=%v, "
               "eps=1e-05)"),
      graph_of(
          rows,
          "%y : f32[2,3,8] = aten.layer_norm(input=%x, groups=1, channels=8, inner=1, weight=floats[1.0, 1.0, 1.0, "
          "1.0, 1.0, 1.0, 1.0, 2.0], bias=none, eps=1e-05, subtracts_mean=true)"),
      unary("1,4,6,6", "softmax(self=%x, dim=3)"),
      unary("1,4,6,6", "log_softmax(self=%x, dim=1)"),
      graph_of(second, "%y : f32[1,8,6,6] = aten.cat(tensors={%x, %x}, dim=1)"),
      unary("1,4,2,6", "slice(self=%x, dim=2, start=1, end=5, step=2)"),
      unary("1,6,6,4", "permute(self=%x, dims=[0, 2, 3, 1])"),
      unary("4,36", "view(self=%x, size=[4, 36])"),
      graph_of("input %x : f32[1,4,1,6]\n", "%y : f32[1,4,5,6] = aten.expand(self=%x, size=[1, 4, 5, 6])"),
      unary("1,4,6,6", "flip(self=%x, dims=[2, 3])"),
      unary("1,4,12,18", "repeat_interleave(self=%x, repeats=[1, 1, 2, 3])"),
      unary("1,4,8,9", "pad(self=%x, pad=[1, 2, 1, 1], value=0.5)"),
      graph_of(image + norm, "%y : f32[1,4,6,6] = aten.prelu(self=%x, weight=%m)"),
      unary("1,4,1,1", "mean(self=%x, dim=[2, 3])"),
      unary("1,1,6,6", "sum(self=%x, dim=[1])"),
      unary("1,4,6,1", "amax(self=%x, dim=[3])"),
      unary("1,4,6,1", "amin(self=%x, dim=[3])"),
      graph_of("input %x : i8[1,4,2,6] quant([0.1], [-3])\ninput %p : i16[3,4]\ninput %s : i32[5]\n",
               "%y : i8[1,4,1,1] quant([0.05], [2]), %n : i16[3,4], %t : i32[5] = aten.moving_mean(self=%x, past=%p, "
               "sums=%s, dim=[2, 3], axis=2, entries=1, is_sum=false)"),
      graph_of(rows +
                   "input %h : f32[3,2]\ninput %c : f32[3,2]\nconst %w : f32[8,8] = data 0 256\nconst %u : f32[8,2] = "
                   "data 256 64\nconst %b : f32[8] = data 320 32\n",
               "%y : f32[2,3,2], %z : f32[3,2] = aten.recurrent(input=%x, h=%h, c=%c, w_ih=%w, w_hh=%u, b_ih=%b, "
               "b_hh=none, kind=\"lstm\", backwards=false)"),
      graph_of(rows + "const %w : f32[6,8] = data 0 192\nconst %u : f32[6,2] = data 192 48\n",
               "%y : f32[2,3,2], %z : f32[3,2] = aten.recurrent(input=%x, h=none, c=none, w_ih=%w, w_hh=%u, b_ih=none, "
               "b_hh=none, kind=\"gru\", backwards=true)"),
      graph_of(rows + "const %w : f32[2,8] = data 0 64\nconst %u : f32[2,2] = data 64 16\n",
               "%y : f32[2,3,2] = aten.recurrent(input=%x, h=none, c=none, w_ih=%w, w_hh=%u, b_ih=none, b_hh=none, "
               "kind=\"rnn_relu\", backwards=false)"),
      graph_of(rows + "input %h : f32[3,1]\nconst %w : f32[8,8] = data 0 256\nconst %u : f32[8,1] = data 256 32\n"
                      "const %p : f32[1,2] = data 288 8\n",
               "%y : f32[2,3,1], %z : f32[3,2] = aten.recurrent(input=%x, h=%h, c=none, w_ih=%w, w_hh=%u, b_ih=none, "
               "b_hh=none, kind=\"lstm\", backwards=false, w_hr=%p)"),
      graph_of(image, "%y : bool[1,4,6,6] = aten.isnan(self=%x)"),
      graph_of(image, "%y : i16[1,4,6,6] = cormorant.convert.any(self=%x)"),
      graph_of(second, "%y : bool[1,4,6,6] = aten.lt.Tensor_out(self=%x, other=%b)"),
      graph_of(second, "%y : f32[1,4,6,6] = aten.fmod.Tensor_out(self=%x, other=%b)"),
      graph_of("input %x : i64[4]\nconst %b : i64[1] = [3]\n", "%y : i64[4] = aten.floor_divide(self=%x, other=%b)"),
      graph_of(second + "input %c : bool[4,1,6]\n",
               "%y : f32[1,4,6,6] = aten.where.self_out(condition=%c, self=%x, other=%b)"),
      graph_of(image + indices, "%y : f32[1,2,6,6] = aten.index_select(self=%x, dim=1, index=%i)"),
      graph_of("input %x : f32[3,2]\nconst %i : i64[2,2] = [0, 2, 1, 9]\n",
               "%y : f32[2,2] = aten.gather(self=%x, dim=0, index=%i, sparse_grad=false)"),
      scatter("aten.scatter.src_out"),
      graph_of("input %x : f32[2,3,2]\ninput %s : f32[2,2,2]\nconst %i : i64[2] = [-1, 7]\n",
               "%y : f32[2,3,2] = aten.index_copy(self=%x, dim=1, index=%i, source=%s)"),
      graph_of(
          "input %x : i8[5,4] quant([0.1], [-3])\ninput %p : i32[1]\ninput %s : i8[1,4] quant([0.1], [-3])\n",
          "%y : i8[3,4] quant([0.1], [-3]), %n : i8[5,4] quant([0.1], [-3]), %q : i32[1] = aten.update_ring(self=%x, "
          "position=%p, source=%s, step=2)"),
      scatter("aten.scatter_add"),
      scatter("cormorant.scatter_prod.any"),
      scatter("cormorant.scatter_amax.any"),
      scatter("cormorant.scatter_amin.any"),
      graph_of(rows, "%y : f32[2,3,8] = aten.cumsum(self=%x, dim=1, dtype=none)"),
      graph_of(rows, "%y : f32[2,3,8] = cormorant.cumprod.any(self=%x, dim=2)"),
      graph_of(rows, "%y : f32[2,3,8] = cormorant.logcumsumexp.any(self=%x, dim=0)"),
      graph_of(rows, "%y : i64[2,3,8] = cormorant.cummax_index.any(self=%x, dim=1)"),
      graph_of(rows, "%y : i32[2,3,8] = cormorant.cummin_index.any(self=%x, dim=1)"),
      graph_of("input %x : i64[2,3]\n", "%y : i64[2,1] = cormorant.sum.any(self=%x, dim=[1])"),
      graph_of(rows, "%y : f32[1,3,1] = cormorant.prod.any(self=%x, dim=[0, 2])"),
      graph_of("input %x : bool[2,3]\n", "%y : bool[1,3] = cormorant.amax.any(self=%x, dim=[0])"),
      graph_of("input %x : u8[2,3]\n", "%y : u8[2,1] = cormorant.amin.any(self=%x, dim=[1])"),
      graph_of(rows, "%y : i64[2,1,8] = aten.argmax(self=%x, dim=1, keepdim=true)"),
      graph_of(rows, "%y : i64[] = aten.argmin(self=%x, dim=none, keepdim=false)"),
      graph_of(rows, "%y : i64[2,3,8] = cormorant.argsort.any(self=%x, dim=1, descending=true)"),
      graph_of(rows + "const %s : f32[4] = [-1.0, 0.0, 0.5, 2.0]\n",
               "%y : i32[2,3,8] = cormorant.searchsorted.any(sorted=%s, values=%x, right=false)"),
      graph_of(image + "const %p : i32[3,2] = [0, 1, 2, 3, 4, 5]\nconst %w : f32[3,2] = data 0 24\n",
               "%y : f32[1,4,3,6] = cormorant.taps.float(self=%x, dim=2, places=%p, weights=%w)"),
      graph_of(image + "input %g : f32[1,2,3,2]\n",
               "%y : f32[1,4,2,3] = cormorant.grid_sample.float(input=%x, grid=%g, mode=0, padding=0, "
               "align_corners=false)"),
      "graph forward\ninput %x : f32[1,4]\nnode \"q\" \"\" \"\"\n  %q : i8[1,4] quant([0.05], [3]) = "
      "quantized_decomposed.quantize_per_tensor(input=%x, scale=0.05, zero_point=3, quant_min=-128, quant_max=127, "
      "dtype=dtype.i8)\nnode \"d\" \"\" \"\"\n  %y : f32[1,4] = quantized_decomposed.dequantize_per_tensor(input=%q, "
      "scale=0.05, zero_point=3, quant_min=-128, quant_max=127, dtype=dtype.i8)\noutput %y\n",
  };
}

std::vector<std::string> mutants_of(const std::string& text) {
  std::vector<std::string> mutants;
  for (const Token& token : tokens_of(text)) {
    for (const std::string& by : replacements_for(text.substr(token.begin, token.end - token.begin))) {
      mutants.push_back(replaced(text, token.begin, token.end, by));
    }
  }
  mutate_arguments(text, mutants);
  return mutants;
}

pt2::Program random_call(const ops::Schema& schema, unsigned seed) { return CallMaker(seed).make(schema); }

std::vector<std::string> mutants_of_export(const std::string& archive, std::size_t most) {
  const pt2::SharedBytes shared = pt2::share(archive);
  pt2::Zip zip(shared, "archive", false);
  std::vector<pt2::ZipItem> items;
  std::size_t graph = 0;
  for (const std::string& name : zip.names()) {
    if (name.ends_with("model.json")) graph = items.size();
    items.push_back({.name = name, .content = std::string(zip.read(name).text())});
  }
  const std::string json = items[graph].content;
  std::vector<std::pair<Token, std::string>> changes;
  for (const Token& token : tokens_of(json)) {
    const std::string word = json.substr(token.begin, token.end - token.begin);
    if (is_number(word)) {
      for (const char* by : {"0", "-1", "2", "7", "65536", "2147483648", "9223372036854775807", "1.5", "null"}) {
        changes.push_back({token, by});
      }
    } else if (word == "true" || word == "false") {
      changes.push_back({token, word == "true" ? "false" : "true"});
    } else if (word.starts_with("as_")) {
      for (const char* by : {"as_none", "as_int", "as_ints", "as_tensor", "as_bool"}) changes.push_back({token, by});
    }
  }
  std::vector<std::string> mutants;
  const std::size_t step = std::max<std::size_t>(1, changes.size() / most);
  for (std::size_t i = 0; i < changes.size(); i += step) {
    const auto& [token, by] = changes[i];
    items[graph].content = replaced(json, token.begin, token.end, by);
    mutants.push_back(pt2::build_zip(items));
  }
  return mutants;
}

}  // namespace cormorant::tests
