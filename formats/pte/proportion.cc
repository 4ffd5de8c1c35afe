// SPDX-License-Identifier: Apache-2.0
#include "formats/pte/proportion.h"

#include <algorithm>
#include <cstdint>

#include "base/diagnostic.h"
#include "formats/pte/verified.h"

namespace cormorant::pte {
namespace {

// Bytes of all lists, as often as something refers to them. Lists of tables count as their pointers; the verifier
// limits the number of tables.
class UnpackedSize {
 public:
  explicit UnpackedSize(const schema::Program& program) {
    each(program.execution_plan(), [&](const schema::ExecutionPlan* plan) { add_plan(*plan); });
    each(program.constant_buffer(), [&](const schema::Buffer* buffer) { add(buffer->storage()); });
    each(program.backend_delegate_data(), [&](const schema::BackendDelegateInlineData* d) { add(d->data()); });
    each(program.segments(), [](const schema::DataSegment*) {});
    each(program.named_data(), [&](const schema::NamedData* named) { add(named->key()); });
    if (program.constant_segment() != nullptr) add(program.constant_segment()->offsets());
    each(program.mutable_data_segments(), [&](const schema::SubsegmentOffsets* s) { add(s->offsets()); });
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  template <class T>
  void add(const flatbuffers::Vector<T>* list) {
    if (list != nullptr) bytes_ += std::uint64_t{list->size()} * sizeof(T);
  }
  void add(const flatbuffers::String* text) {
    if (text != nullptr) bytes_ += text->size();
  }
  template <class List, class F>
  void each(const List* list, F f) {
    if (list == nullptr) return;
    bytes_ += std::uint64_t{list->size()} * sizeof(void*);
    for (const auto* item : *list) f(item);
  }

  void add_value(const schema::EValue& value) {
    if (const auto* tensor = value.val_as_Tensor()) {
      add(tensor->sizes());
      add(tensor->dim_order());
      if (tensor->extra_tensor_info() != nullptr) add(tensor->extra_tensor_info()->fully_qualified_name());
    }
    if (const auto* text = value.val_as_String()) add(text->string_val());
    if (const auto* list = value.val_as_IntList()) add(list->items());
    if (const auto* list = value.val_as_DoubleList()) add(list->items());
    if (const auto* list = value.val_as_BoolList()) add(list->items());
    if (const auto* list = value.val_as_TensorList()) add(list->items());
    if (const auto* list = value.val_as_OptionalTensorList()) add(list->items());
  }
  void add_chain(const schema::Chain& chain) {
    add(chain.inputs());
    add(chain.outputs());
    each(chain.instructions(), [&](const schema::Instruction* instruction) {
      if (const auto* call = instruction->instr_args_as_KernelCall()) add(call->args());
      if (const auto* call = instruction->instr_args_as_DelegateCall()) add(call->args());
    });
    each(chain.stacktrace(), [&](const schema::FrameList* frames) {
      each(frames->items(), [&](const schema::Frame* frame) {
        for (const auto* text : {frame->filename(), frame->name(), frame->context()}) add(text);
      });
    });
  }
  void add_plan(const schema::ExecutionPlan& plan) {
    add(plan.name());
    if (const auto* meta = plan.container_meta_type()) {
      add(meta->encoded_inp_str());
      add(meta->encoded_out_str());
    }
    each(plan.values(), [&](const schema::EValue* value) { add_value(*value); });
    add(plan.inputs());
    add(plan.outputs());
    each(plan.chains(), [&](const schema::Chain* chain) { add_chain(*chain); });
    each(plan.operators(), [&](const schema::Operator* op) {
      add(op->name());
      add(op->overload());
    });
    each(plan.delegates(), [&](const schema::BackendDelegate* delegate) {
      add(delegate->id());
      each(delegate->compile_specs(), [&](const schema::CompileSpec* spec) {
        add(spec->key());
        add(spec->value());
      });
    });
    add(plan.non_const_buffer_sizes());
    each(plan.non_const_buffer_device(), [](const schema::NonConstBufferDevice*) {});
  }

  std::uint64_t bytes_ = 0;
};

}  // namespace

bool is_proportionate(std::span<const std::byte> file) {
  constexpr std::size_t kSmallest = 64;
  // Real files share little: equal numbers, lists of a few dimensions, strings.
  constexpr std::uint64_t kFree = std::uint64_t{8} << 20U, kMostTimes = 4;
  const schema::Program* program = file.size() < kSmallest ? nullptr : verified_program(file);
  return program == nullptr || UnpackedSize(*program).bytes() <= kFree + kMostTimes * file.size();
}

void require_proportionate(std::span<const std::byte> file, const std::string& name) {
  if (is_proportionate(file)) return;
  throw InputError({"its parts are referred to so often that the program would need many times the file's size",
                    "the file is damaged, or was not written by a known compiler: compile it again", name});
}

}  // namespace cormorant::pte
