// SPDX-License-Identifier: Apache-2.0
#include "runtime/host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "formats/pte/reader.h"
#include "runtime/loader.h"

namespace cormorant {
namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kSmallestState = 4096;
constexpr std::size_t kRoomyState = std::size_t{1} << 20;
constexpr std::size_t kLargestState = std::size_t{1} << 28;

std::string full_name(const pte::OperatorView& op) {
  std::string name(op.name);
  if (!op.overload.empty()) name.append(".").append(op.overload);
  return name;
}

const char* kind_name(pte::ValueKind kind) {
  constexpr const char* kNames[] = {"nothing",      "none",        "an int",        "a bool",
                                    "a float",      "a tensor",    "a string",      "an int list",
                                    "a float list", "a bool list", "a tensor list", "an optional tensor list"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "of no known kind";
}

std::string operator_name(const Failure& failure, const pte::MethodView& method) {
  const auto instruction = method.instruction(failure.instruction);
  if (!instruction.ok()) return {};
  const auto op = method.operator_at(instruction.value().op);
  return op.ok() ? full_name(op.value()) : std::string();
}

// "instruction 3, argument 5", as far as the failure says.
std::string place(const Failure& failure) {
  const bool in_call = failure.instruction != Failure::kNone;
  std::string text = in_call ? fmt::format("instruction {}", failure.instruction) : "";
  if (failure.argument == Failure::kNone) return text;
  const char* what = in_call ? ", argument " : failure.error == Error::arena_too_small ? "memory " : "input or output ";
  return text + what + std::to_string(failure.argument);
}

// What the file has where an argument of another type was expected.
std::string found(const Failure& failure, const pte::MethodView& method) {
  const auto instruction = method.instruction(failure.instruction);
  if (!instruction.ok() || failure.argument >= instruction.value().args.size()) return {};
  const auto kind = method.kind(instruction.value().args[failure.argument]);
  return kind.ok() ? fmt::format(" (it is {})", kind_name(kind.value())) : std::string();
}

std::string delegates(const pte::MethodView& method) {
  std::vector<std::string> names;
  const auto count = method.delegate_count();
  for (std::uint32_t i = 0; count.ok() && i < count.value(); ++i) {
    if (const auto name = method.delegate_name(i); name.ok()) names.emplace_back(name.value());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names.empty() ? std::string() : fmt::format(" ({})", fmt::join(names, ", "));
}

// The version of ExecuTorch's format that a file claims, if it is not ours; empty otherwise.
std::string other_version(std::span<const std::byte> pte) {
  if (pte.size() < 8) return {};
  const std::string_view identifier(reinterpret_cast<const char*>(pte.data()) + 4, 4);
  return identifier.starts_with("ET") && identifier != "ET12" ? std::string(identifier) : std::string();
}

bool has_no_memory(const pte::MethodView& method, std::int32_t value) {
  const auto tensor = method.tensor(value);
  return tensor.ok() && !tensor.value().is_planned() && tensor.value().data_index == 0;
}

// Whether a load stopped at a tensor for which the file has neither an address nor data.
bool stopped_without_memory(const Failure& failure, const pte::MethodView& method) {
  if (failure.error != Error::unsupported || failure.argument == Failure::kNone) return false;
  const auto at = [&](std::span<const std::int32_t> values) {
    return failure.argument < values.size() && has_no_memory(method, values[failure.argument]);
  };
  if (failure.instruction == Failure::kNone) {
    const auto inputs = method.inputs();
    const auto outputs = method.outputs();
    return (inputs.ok() && at(inputs.value())) || (outputs.ok() && at(outputs.value()));
  }
  const auto instruction = method.instruction(failure.instruction);
  return instruction.ok() && at(instruction.value().args);
}

std::string problem(const Failure& failure, const pte::MethodView& method, std::span<const std::byte> pte) {
  std::string text = describe(failure.error);
  if (stopped_without_memory(failure, method)) {
    return "the tensor has neither a planned address nor data in this file: buffers supplied by the caller and data in "
           "separate files (.ptd) are not supported";
  }
  switch (failure.error) {
    case Error::bad_header:
      if (const std::string version = other_version(pte); !version.empty()) {
        return fmt::format("the file has version {} of ExecuTorch's format, but only ET12 is supported", version);
      }
      return text;
    case Error::bad_value:
      if (failure.required == 0 && failure.actual == 0) return text + found(failure, method);
      return fmt::format("the operator takes {}{} arguments, but the program gives {}",
                         failure.required > failure.actual ? "at least " : "", failure.required, failure.actual);
    case Error::has_delegate:
      return text + delegates(method);
    default:
      if (failure.required == 0 && failure.actual == 0) return text;
      return text + fmt::format(": {} are required, but there are {}", failure.required, failure.actual);
  }
}

// Our own operators occur in programs of our own compiler; others may be in a file whose model nobody has.
bool is_ours(const std::string& operator_name) { return operator_name.starts_with("cormorant::"); }

std::string advice(Error error, bool is_of_ours = true) {
  switch (error) {
    case Error::has_delegate:
      return "export the model again without a delegate (ExecuTorch: without --delegate)";
    case Error::unknown_operator:
      return is_of_ours ? "the program is another version's: compile the model again with this one"
                        : "`cormorant operators` lists the supported operators; compiling the model itself, exported "
                          "as .pt2, avoids the others";
    case Error::unsupported:
      return is_of_ours ? ""
                        : "the operator is supported, but not with these types, sizes or memory orders; compiling the "
                          "model itself, exported as .pt2, avoids that";
    case Error::scratch_mismatch:
      return "the compiler and the kernel disagree about the scratch size: this is a bug in cormorant";
    default:
      return error < Error::unknown_operator
                 ? "the file is damaged, or was not written by a known compiler: compile it again"
                 : "";
  }
}

// Missing operators are reported all at once.
Diagnostic unknown_operators(std::span<const std::byte> pte, std::span<const Kernel* const> table) {
  const std::vector<std::string> missing = missing_operators(pte, table);
  return {fmt::format("the operator table lacks: {}", fmt::join(missing, ", ")),
          advice(Error::unknown_operator, std::all_of(missing.begin(), missing.end(), is_ours))};
}

}  // namespace

AlignedBytes::AlignedBytes(std::size_t size) : size_(size) {
  // Of what a file claims, only what is used becomes memory. Neither this nor posix_memalign rounds sizes up: a
  // sanitizer should see the first byte past an arena.
  data_.reset(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(size, 1), 1)));
  if (data_ == nullptr) throw std::bad_alloc();
  if (reinterpret_cast<std::uintptr_t>(data_.get()) % kAlignment == 0) return;
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, std::max<std::size_t>(size, 1)) != 0) throw std::bad_alloc();
  std::memset(data, 0, size);
  data_.reset(static_cast<std::byte*>(data));
}

AlignedBytes::AlignedBytes(std::span<const std::byte> contents) : AlignedBytes(contents.size()) {
  std::copy(contents.begin(), contents.end(), data_.get());
}

void AlignedBytes::Free::operator()(std::byte* data) const { std::free(data); }

namespace {

std::vector<AlignedBytes> allocate_arenas(std::span<const std::byte> pte, const std::string& method,
                                          const std::string& file) {
  std::vector<AlignedBytes> arenas;
  const auto program = pte::ProgramView::open(pte);
  if (!program.ok()) return arenas;  // load will say what is wrong
  const auto found = program.value().method(std::string_view(method));
  if (!found.ok()) return arenas;
  const auto sizes = found.value().memory_sizes();
  std::int64_t room = kMostArenas;
  for (std::size_t id = 1; id < sizes.size(); ++id) {
    if (sizes[id] < 0 || sizes[id] > room) {
      throw InputError({fmt::format("the program plans {} bytes of memory {}{}", sizes[id], id,
                                    sizes[id] < 0 ? "" : ": more than 1 GiB in all"),
                        advice(Error::bad_structure), file});
    }
    room -= sizes[id];
    arenas.emplace_back(static_cast<std::size_t>(sizes[id]));
  }
  return arenas;
}

std::vector<Region> regions_of(const std::vector<AlignedBytes>& arenas) {
  std::vector<Region> regions;
  for (const AlignedBytes& arena : arenas) regions.push_back(region_of(arena.span()));
  return regions;
}

[[noreturn]] void refuse(const Failure& failure, std::span<const std::byte> pte, std::span<const Kernel* const> kernels,
                         const std::string& method, const std::string& file) {
  Diagnostic why =
      failure.error == Error::unknown_operator ? unknown_operators(pte, kernels) : explain(failure, pte, method);
  why.file = file;
  throw InputError(std::move(why));
}

}  // namespace

HostProgram::HostProgram(std::span<const std::byte> pte, std::span<const Kernel* const> kernels, std::string file,
                         std::string method)
    : file_(std::move(file)),
      pte_(pte),
      arenas_(allocate_arenas(pte_.span(), method, file_)),
      regions_(regions_of(arenas_)) {
  for (std::size_t size = kSmallestState;; size *= 2) {
    state_ = AlignedBytes(size);
    Failure failure;
    const auto loaded = load_program(pte_.span(), method.c_str(), kernels, state_.span(), regions_, failure);
    if (loaded.ok()) {
      program_ = loaded.value();
      return;
    }
    if (failure.error == Error::state_too_small && size < kLargestState) continue;
    refuse(failure, pte, kernels, method, file_);
  }
}

std::uint64_t state_on_target(std::span<const std::byte> pte, const std::string& method,
                              std::span<const Kernel> kernels) {
  const AlignedBytes file(pte);
  const std::vector<AlignedBytes> arenas = allocate_arenas(file.span(), method, {});
  const std::vector<Region> regions = regions_of(arenas);
  std::vector<const Kernel*> table;
  for (const Kernel& kernel : kernels) table.push_back(&kernel);
  // Sharing is granted where there is room: more than anything on a microcontroller asks for.
  for (std::size_t size = kRoomyState;; size *= 2) {
    const AlignedBytes state(size);
    Failure failure;
    const Source source(file.span(), method.c_str(), regions);
    Loader loader(source, state.span(), failure);
    failure.error = source.error();
    if (failure.error == Error::ok) failure.error = source.check_arenas(failure);
    if (failure.error == Error::ok) {
      source.write_initial_values();
      failure.error = loader.load(table);
    }
    if (failure.error == Error::ok) return loader.state_on_target();
    if (failure.error == Error::state_too_small && size < kLargestState) continue;
    refuse(failure, file.span(), table, method, {});
  }
}

std::vector<std::vector<std::byte>> HostProgram::run(std::span<const std::vector<std::byte>> inputs) {
  const std::size_t count = program_.input_count();
  if (inputs.size() > count) {
    throw InputError({fmt::format("{} inputs are given, but the program has {}", inputs.size(), count), "", file_});
  }
  if (const std::size_t rows = program_.missing_rows(); rows != 0 && count == 1) {
    if (!inputs.empty()) {
      push_rows(inputs.front());
    } else {
      const std::vector<std::byte> zeros(program_.input(0).bytes());
      for (std::size_t row = 0; row < rows; ++row) push_row(zeros.data());
    }
    return outputs();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Span<std::byte> input = program_.input(i).as<std::byte>();
    if (i >= inputs.size()) {
      std::ranges::fill(input, std::byte{0});
      continue;
    }
    if (inputs[i].size() != input.size()) {
      throw InputError(
          {fmt::format("input {} has {} bytes, but the program needs {}", i, inputs[i].size(), input.size()), "",
           file_});
    }
    std::ranges::copy(inputs[i], input.begin());
  }
  program_.execute();
  return outputs();
}

// One by one, as they come from a camera.
void HostProgram::push_rows(std::span<const std::byte> image) {
  const std::size_t rows = program_.missing_rows(), row_bytes = program_.input(0).bytes();
  if (image.size() != rows * row_bytes) {
    throw InputError(
        {fmt::format("the image has {} bytes, but the program needs {} rows of {}", image.size(), rows, row_bytes), "",
         file_});
  }
  for (std::size_t row = 0; row < rows; ++row) push_row(image.data() + row * row_bytes);
}

void HostProgram::push_row(const std::byte* row) {
  if (const Error error = program_.push_rows(row, 1); error != Error::ok) {
    throw InputError({describe(error), "", file_});
  }
}

std::vector<std::vector<std::byte>> HostProgram::outputs() const {
  std::vector<std::vector<std::byte>> all;
  for (std::size_t i = 0; i < program_.output_count(); ++i) {
    const Span<std::byte> output = program_.output(i).as<std::byte>();
    all.emplace_back(output.begin(), output.end());
  }
  return all;
}

std::vector<std::string> missing_operators(std::span<const std::byte> pte, std::span<const Kernel* const> table) {
  const AlignedBytes bytes(pte);
  std::vector<std::string> missing;
  const auto program = pte::ProgramView::open(bytes.span());
  for (std::uint32_t m = 0; program.ok() && m < program.value().method_count(); ++m) {
    const auto method = program.value().method(m);
    for (std::uint32_t i = 0; method.ok() && i < method.value().operator_count(); ++i) {
      const auto op = method.value().operator_at(i);
      if (!op.ok()) continue;
      const std::string name = full_name(op.value());
      const bool known = std::any_of(table.begin(), table.end(), [&](const Kernel* k) { return name == k->name; });
      if (!known && std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
    }
  }
  return missing;
}

Diagnostic explain(const Failure& failure, std::span<const std::byte> pte, std::string_view method) {
  const AlignedBytes bytes(pte);
  pte::MethodView view;  // stays empty if the file cannot be read that far: its accessors then report it
  if (const auto program = pte::ProgramView::open(bytes.span()); program.ok()) {
    if (const auto found = program.value().method(method); found.ok()) view = found.value();
  }
  const std::string name = operator_name(failure, view);
  const std::string what_to_do =
      stopped_without_memory(failure, view)
          ? "plan inputs and outputs (ExecuTorch: alloc_graph_input, alloc_graph_output) and "
            "keep the constants in the program"
          : advice(failure.error, name.empty() || is_ours(name));
  return {problem(failure, view, pte), what_to_do, {}, name, place(failure)};
}

}  // namespace cormorant
