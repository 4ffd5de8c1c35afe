// SPDX-License-Identifier: Apache-2.0
#include "runner/model_header.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "runner/state.h"

namespace cormorant {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

const char* c_type(DType type) {
  switch (type) {
    case DType::u8:
      return "uint8_t";
    case DType::i8:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::boolean:
      return "uint8_t";
    case DType::f16:
    case DType::bf16:
      return "uint16_t";
  }
  return "uint8_t";
}

std::pair<int, int> range_of(DType type) {
  return type == DType::u8 ? std::pair(0, 255) : type == DType::i16 ? std::pair(-32768, 32767) : std::pair(-128, 127);
}

std::string c_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '?') result += '\\';  // "??/" is a backslash in C99
    const bool is_plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    result += is_plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return result + '"';
}

// Text inside a comment must not end it.
std::string in_comment(std::string text) {
  std::ranges::replace(text, '*', '_');
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == '\\'; }, '_');
  return text;
}

// "input_x", "output" for the only one, "output_1".
std::vector<std::string> labels(const std::vector<IoFacts>& tensors, const std::string& kind) {
  std::vector<std::string> all;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = tensors[i].name.empty() ? "" : identifier(tensors[i].name);
    std::string label = !name.empty() ? kind + "_" + name : tensors.size() == 1 ? kind : fmt::format("{}_{}", kind, i);
    if (!taken.insert(label).second) taken.insert(label += fmt::format("_{}", i));
    all.push_back(std::move(label));
  }
  return all;
}

class Writer {
 public:
  explicit Writer(const ModelHeader& header) : header_(header), name_(header.name), big_(upper(header.name)) {}

  std::string run() {
    begin();
    memory();
    const std::vector<std::string> inputs = labels(header_.facts.inputs, "input");
    const std::vector<std::string> outputs = labels(header_.facts.outputs, "output");
    for (std::size_t i = 0; i < inputs.size(); ++i) tensor("Input", i, inputs[i], header_.facts.inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i) tensor("Output", i, outputs[i], header_.facts.outputs[i]);
    add("#ifdef __cplusplus\n}}\n\n");
    add("#include \"cormorant/cormorant.hpp\"\n\n");
    add("namespace {0} {{\n\n", name_);
    add("// The program with its own memory; everything else as in cormorant::Program.\n");
    add("class Model : public cormorant::Program {{\n public:\n");
    add("  [[nodiscard]] cormorant::Error load(cormorant::Failure* why = nullptr) {{\n"
        "    return cormorant::Program::load({0}_model, {0}_memory, why);\n  }}\n",
        name_);
    add("  using cormorant::Program::input;\n  using cormorant::Program::load;  // with other memory\n"
        "  using cormorant::Program::output;\n");
    for (std::size_t i = 0; i < inputs.size(); ++i) accessor(inputs[i], header_.facts.inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i) accessor(outputs[i], header_.facts.outputs[i]);
    add("}};\n\n}}  // namespace {0}\n#endif\n\n#endif\n", name_);
    return text_;
  }

 private:
  template <class... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    text_ += fmt::format(format, std::forward<Parts>(parts)...);
  }

  void begin() {
    add("/* Generated from {} by cormorant-glue: the model as firmware sees it. */\n", in_comment(header_.file));
    add("#ifndef CORMORANT_MODEL_{0}_H\n#define CORMORANT_MODEL_{0}_H\n\n", big_);
    add("#include \"cormorant/cormorant.h\"\n#include \"cormorant/quantize.h\"\n\n");
    add("#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n");
  }

  void memory() {
    const ProgramFacts& facts = header_.facts;
    add("/* Bytes: of the program in flash; of the state and the arenas in RAM, and all RAM with the program's object; "
        "of\n * what cormorant_save copies, 0 without buffers that the model changes. */\n");
    add("#define {}_MODEL_BYTES {}\n", big_, header_.model_bytes);
    add("#define {}_STATE_BYTES {}\n", big_, header_.state_bytes);
    std::uint64_t ram = header_.state_bytes + kProgramBytes;
    for (std::size_t i = 0; i < facts.arena_bytes.size(); ++i) {
      const bool is_named = i < facts.arena_names.size() && !facts.arena_names[i].empty();
      const std::string region = is_named ? upper(identifier(facts.arena_names[i])) : std::to_string(i);
      add("#define {}_ARENA_{}_BYTES {}\n", big_, region, facts.arena_bytes[i]);
      ram += facts.arena_bytes[i];
    }
    add("#define {}_ARENA_COUNT {}\n", big_, facts.arena_bytes.size());
    add("#define {}_RAM_BYTES {}\n", big_, ram);
    add("#define {}_BUFFER_BYTES {}\n\n", big_, facts.kept.buffer_bytes);
    add("CORMORANT_STATIC_ASSERT(sizeof(void*) == 4, {0}_is_for_a_cortex_m);\n", name_);
    const std::string_view macro = header_.isa == Isa::mve ? "__ARM_FEATURE_MVE" : "__ARM_FEATURE_DSP";
    if (header_.isa != Isa::scalar) {
      add("#ifndef {0}\n#error \"{1} was compiled for a CPU with {2}, which this firmware's compiler flags (-mcpu) do "
          "not "
          "have\"\n#endif\n",
          macro, name_, header_.isa == Isa::mve ? "MVE" : "DSP instructions");
    }
    add("#ifdef {0}_RAM_LIMIT /* what this firmware can spare: define it before including this header */\n"
        "CORMORANT_STATIC_ASSERT({0}_RAM_BYTES <= {0}_RAM_LIMIT, {1}_needs_more_ram);\n#endif\n",
        big_, name_);
    add("#ifdef {0}_FLASH_LIMIT\n"
        "CORMORANT_STATIC_ASSERT({0}_MODEL_BYTES <= {0}_FLASH_LIMIT, {1}_needs_more_flash);\n#endif\n\n",
        big_, name_);
    add("/* The program and exactly its kernels; memory of the sizes above, for this model alone or shared. */\n");
    add("extern const cormorant_model {0}_model;\nextern const cormorant_memory {0}_memory;\n\n", name_);
    add("static inline cormorant_error {0}_load(cormorant_program* program, cormorant_failure* why) {{\n"
        "  return cormorant_load(program, &{0}_model, &{0}_memory, why);\n}}\n",
        name_);
    if (facts.rows == 0) {
      add("static inline void {0}_run(const cormorant_program* program) {{ cormorant_execute(program); }}\n\n", name_);
      return;
    }
    add("\n/* The image arrives by rows: the input is one of them. With the last the outputs are there. */\n");
    add("#define {}_ROWS {}\n", big_, facts.rows);
    add("static inline cormorant_error {0}_push_rows(const cormorant_program* program, const {1}* rows, size_t count) "
        "{{\n  return cormorant_push_rows(program, rows, count);\n}}\n\n",
        name_, c_type(facts.inputs.at(0).dtype));
  }

  void tensor(const char* kind, std::size_t index, const std::string& label, const IoFacts& facts) {
    if (facts.memory_id == 0) {
      throw InputError({.problem = fmt::format("{} has no planned memory", label),
                        .advice = "plan inputs and outputs (ExecuTorch: alloc_graph_input, alloc_graph_output)"});
    }
    const std::string macro = fmt::format("{}_{}", big_, upper(label));
    std::vector<std::int32_t> in_memory;
    for (const std::uint8_t dim : facts.order) in_memory.push_back(facts.sizes[dim]);
    add("/* {} {}{}: {} [{}]", kind, index, facts.name.empty() ? "" : ", " + in_comment(facts.name),
        cormorant::name_of(facts.dtype), fmt::join(facts.sizes, ", "));
    if (in_memory != facts.sizes) add(", in memory [{}]", fmt::join(in_memory, ", "));
    if (facts.scale != 0) {
      add("; q stands for {:.9g} * (q {} {})", facts.scale, facts.zero_point < 0 ? '+' : '-',
          std::abs(facts.zero_point));
    }
    add(". */\n");
    if (!facts.name.empty()) add("#define {}_NAME {}\n", macro, c_string(facts.name));
    add("#define {}_INDEX {}\n", macro, index);
    add("#define {}_TYPE {}\n", macro, type_constant(facts.dtype));
    add("#define {}_RANK {}\n", macro, facts.sizes.size());
    add("#define {}_SIZES {{{}}}\n", macro, fmt::join(facts.sizes, ", "));
    add("#define {}_ORDER {{{}}}\n", macro, fmt::join(facts.order, ", "));
    add("#define {}_ELEMENTS {}\n", macro, facts.bytes / size_of(facts.dtype));
    add("#define {}_BYTES {}\n", macro, facts.bytes);
    const char* const type = c_type(facts.dtype);
    add("static inline {0}* {1}_{2}(const cormorant_program* program) {{\n"
        "  return ({0}*)(void*)((char*)program->arenas[{3}].data + {4});\n}}\n",
        type, name_, label, facts.memory_id - 1, facts.offset);
    if (facts.scale != 0) {
      const auto scale = static_cast<float>(facts.scale);
      const auto [low, high] = range_of(facts.dtype);
      add("#define {}_SCALE {}\n", macro, c_float(scale));
      add("#define {}_ZERO_POINT {}\n", macro,
          facts.zero_point < 0 ? fmt::format("({})", facts.zero_point) : std::to_string(facts.zero_point));
      add("static inline {0} {1}_quantize_{2}(float value) {{\n"
          "  return ({0})cormorant_quantize(value, {3}, {4}_ZERO_POINT, {5}, {6});\n}}\n",
          type, name_, label, c_float(1.0F / scale), macro, low, high);
      add("static inline float {1}_dequantize_{2}({0} stored) {{\n"
          "  return cormorant_dequantize(stored, {3}_SCALE, {3}_ZERO_POINT);\n}}\n",
          type, name_, label, macro);
    }
    add("\n");
  }

  // All digits that a float has, and always a fraction: 1.0F is not an integer with a suffix.
  static std::string c_float(float value) {
    std::string text = fmt::format("{:.9g}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text + "f";
  }

  static const char* type_constant(DType type) {
    switch (type) {
      case DType::u8:
        return "CORMORANT_UINT8";
      case DType::i8:
        return "CORMORANT_INT8";
      case DType::i16:
        return "CORMORANT_INT16";
      case DType::i32:
        return "CORMORANT_INT32";
      case DType::i64:
        return "CORMORANT_INT64";
      case DType::f16:
        return "CORMORANT_FLOAT16";
      case DType::f32:
        return "CORMORANT_FLOAT32";
      case DType::f64:
        return "CORMORANT_FLOAT64";
      case DType::boolean:
        return "CORMORANT_BOOL";
      case DType::bf16:
        return "CORMORANT_BFLOAT16";
    }
    return "";
  }

  void accessor(const std::string& label, const IoFacts& facts) {
    add("  [[nodiscard]] cormorant::Span<{0}> {2}() const {{\n"
        "    return {{{1}_{2}(&c()), {3}_{4}_ELEMENTS}};\n  }}\n",
        c_type(facts.dtype), name_, label, big_, upper(label));
    if (facts.scale == 0) return;
    add("  static {0} quantize_{2}(float value) {{ return {1}_quantize_{2}(value); }}\n"
        "  static float dequantize_{2}({0} stored) {{ return {1}_dequantize_{2}(stored); }}\n",
        c_type(facts.dtype), name_, label);
  }

  const ModelHeader& header_;
  const std::string& name_;
  const std::string big_;
  std::string text_;
};

}  // namespace

std::string identifier(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && !result.empty()) || c == '_';
    if (is_plain) {
      result += c;
    } else if (result.empty() && c >= '0' && c <= '9') {
      result = std::string("_") + c;
    } else {
      result += '_';
    }
  }
  return result;
}

std::string model_header(const ModelHeader& header) { return Writer(header).run(); }

std::string methods_header(const std::string& name, const std::vector<ModelHeader>& methods) {
  std::string text;
  std::uint64_t ram = 0;
  std::vector<std::uint64_t> arenas;
  for (const ModelHeader& method : methods) {
    text += model_header(method) + "\n";
    ram += method.state_bytes + kProgramBytes;
    const std::vector<std::uint64_t>& own = method.facts.arena_bytes;
    arenas.resize(std::max(arenas.size(), own.size()));
    for (std::size_t i = 0; i < own.size(); ++i) arenas[i] = std::max(arenas[i], own[i]);
  }
  for (const std::uint64_t bytes : arenas) ram += bytes;
  return text + fmt::format(
                    "/* All methods together: they share the program's bytes and the arenas, so that only one of them "
                    "executes at a time. */\n"
                    "#ifndef {0}_METHOD_COUNT\n#define {0}_METHOD_COUNT {1}\n#define {0}_MODEL_BYTES {2}\n#define "
                    "{0}_RAM_BYTES {3}\n"
                    "#ifdef {0}_RAM_LIMIT\nCORMORANT_STATIC_ASSERT({0}_RAM_BYTES <= {0}_RAM_LIMIT, "
                    "{4}_needs_more_ram);\n#endif\n"
                    "#ifdef {0}_FLASH_LIMIT\nCORMORANT_STATIC_ASSERT({0}_MODEL_BYTES <= {0}_FLASH_LIMIT, "
                    "{4}_needs_more_flash);\n#endif\n#endif\n",
                    upper(name), methods.size(), methods.empty() ? 0 : methods.front().model_bytes, ram, name);
}

}  // namespace cormorant
