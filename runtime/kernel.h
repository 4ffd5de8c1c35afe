// SPDX-License-Identifier: Apache-2.0
//
// The contract between the runtime and the kernels. A kernel is two functions: `load` runs once, checks every argument
// and leaves a plan (usually its signature struct, filled in) in the state memory; `execute` runs per inference, trusts
// the plan and cannot fail. The executor is then a flat list {execute, plan} with nothing to decide.
//
// A kernel's scratch is its own: load refuses a call in which it shares memory with another argument, and one whose
// results share memory with its inputs in a way that the signature does not offer (Overlap). Nevertheless no kernel
// takes an address or loop bound from tensor data, nor an index that it has not bounded (base/element.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include "base/checked_size.h"
#include "base/overlap.h"
#include "base/result.h"
#include "runtime/tensor.h"

namespace cormorant {
class Call;
struct CallTypes;
}  // namespace cormorant
struct cormorant_step;

// Firmware knows it by its symbol only (include/cormorant).
struct cormorant_kernel {
  const char* name;                                 // as the program spells it: "cortex_m::quantized_add.out"
  cormorant::Error (*load)(cormorant::Call& call);  // on success call.plan() is set
  void (*execute)(const void* plan);                // bit for bit what the reference computes
};

namespace cormorant {

using Kernel = ::cormorant_kernel;

// What a signature struct's fields are on the target; the compiler has its own world (ops/host/signature.h).
struct TargetWorld {
  using Tensor = cormorant::Tensor;
  using OptionalTensor = cormorant::OptionalTensor;
  using Scratch = cormorant::ScratchTensor;
  using Out = cormorant::OutTensor;
  using Int = std::int32_t;
  using Float = float;
  using Bool = bool;
  using IntList = cormorant::IntList;
  using IntPair = cormorant::IntPair;
  using OptionalInt = cormorant::OptionalInt;
  using OptionalIntList = cormorant::OptionalIntList;
  using TensorList = cormorant::TensorList;
  using ScalarType = DType;
  using Scalar = cormorant::Scalar;
  using OptionalScalar = cormorant::OptionalScalar;
  using String = std::string_view;
};

// How many bytes a T takes in the state of a Cortex-M, whose pointers have four. Plans say it (kStateBytes, and
// kStateAlignment if that is not 4), so that the host, where most of them are larger, knows it as well: it is a
// program's state before there is firmware (runtime/host.h). The build for Cortex-M checks each number.
inline constexpr bool kIsCortexM = sizeof(void*) == 4;
template <class T>
struct StateSize {
  static constexpr std::uint32_t kBytes = T::kStateBytes;
  static constexpr std::uint32_t kAlignment = [] {
    if constexpr (requires { T::kStateAlignment; }) return std::uint32_t{T::kStateAlignment};
    return std::uint32_t{4};
  }();
};
template <class T>
struct StateSize<T*> {
  static constexpr std::uint32_t kBytes = 4, kAlignment = 4;
};
template <>
struct StateSize<std::int64_t> {
  static constexpr std::uint32_t kBytes = 8, kAlignment = 8;
};

// One kernel call while it is being loaded. As the visitor of a signature struct it reads the arguments in order,
// checking count and type; the first failure sticks, so a kernel checks once after reading all.
class Call {
 public:
  void operator()(const char* /*name*/, Tensor& field) { read(field, Role::read); }
  void operator()(const char* /*name*/, OptionalTensor& field) { read(field); }
  void operator()(const char* /*name*/, OutTensor& field) { read(field, Role::written); }
  void operator()(const char* /*name*/, ScratchTensor& field) { read(field, Role::scratch); }
  void operator()(const char* /*name*/, std::int32_t& field) { read(field); }
  void operator()(const char* /*name*/, float& field) { read(field); }
  void operator()(const char* /*name*/, bool& field) { read(field); }
  void operator()(const char* /*name*/, IntList& field) { read(field.count, field.items); }
  void operator()(const char* /*name*/, IntPair& field) { read(field.count, field.items); }
  void operator()(const char* /*name*/, OptionalInt& field) { read(field); }
  void operator()(const char* /*name*/, OptionalIntList& field) { read(field); }
  void operator()(const char* /*name*/, TensorList& field) { read(field); }
  void operator()(const char* /*name*/, DType& field) { read(field); }
  void operator()(const char* /*name*/, Scalar& field) { read(field); }
  void operator()(const char* /*name*/, OptionalScalar& field) { read(field); }
  void operator()(const char* /*name*/, std::string_view& field) { read(field); }
  void operator()(const char* /*name*/, Number& field) { read(field); }
  void operator()(const char* /*name*/, OptionalNumber& field) { read(field); }
  void operator()(const char* /*name*/, OptionalFloatPair& field) { read(field); }
  void operator()(const char* /*name*/, OptionalTensorList& field) { read(field); }

  // A tensor of a list; false after any failure. `index` is less than the list's count.
  bool item(const TensorList& list, std::uint32_t index, Tensor& tensor);
  // The same of a list that may hold none.
  bool item(const OptionalTensorList& list, std::uint32_t index, OptionalTensor& tensor);

  // Whether the program has exactly one input, and this is it.
  [[nodiscard]] bool is_only_input(const std::byte* data, std::size_t bytes) const;

  // Memory from the state, for a plan or what belongs to one; null after any failure, and (with a sticky one) when it
  // is used up.
  template <class T>
  T* allocate() {
    count_on_target<T>(1);
    return static_cast<T*>(take(sizeof(T), alignof(T)));
  }
  // `count` of them, one after another.
  template <class T>
  T* allocate_list(std::uint32_t count) {
    count_on_target<T>(count);
    return static_cast<T*>(take((CheckedSize(count) * sizeof(T)).value(), alignof(T)));
  }
  // A T, and `count` items after it.
  template <class T, class Item>
  T* allocate_with(std::uint32_t count) {
    static_assert(alignof(Item) <= alignof(T) && sizeof(T) % alignof(Item) == 0);
    count_on_target<T>(1);
    count_on_target<Item>(count);
    return static_cast<T*>(take((CheckedSize(count) * sizeof(Item) + sizeof(T)).value(), alignof(T)));
  }

  // Memory from the state, 16-byte aligned, that is this kernel's while it executes and other kernels' before and
  // after; null, which is not a failure, if there is not that much, and after any failure. No tensor is there. For
  // programs with too little scratch, because another runtime's kernels need none.
  void* share(std::size_t bytes);

  // For operators that call others: `count` instructions from `first` on, after this one. They are loaded and verified
  // like all others, but belong to their callers: no execution steps on them. Null (and a failure) if they do not
  // exist, or would call others themselves.
  const cormorant_step* stages(std::int32_t first, std::uint32_t count);

  // Memory for a plan, value-initialized; null after any failure, and when the state is used up. State is scarce, about
  // 80 bytes per operator: a kernel with a long signature keeps what its loop needs and no more.
  template <class Plan>
  Plan* make_plan() {
    void* const memory = allocate<Plan>();
    if (memory == nullptr) return nullptr;
    auto* const plan = ::new (memory) Plan{};
    set_plan(plan);
    return plan;
  }

  // The plan that another kernel's load has made, for one that adds to it; null after any failure.
  template <class Plan>
  [[nodiscard]] Plan* made_plan() const {
    return error() == Error::ok ? static_cast<Plan*>(plan_) : nullptr;
  }

  // Reads a whole signature to the stack, for kernels that keep only an extract as their plan; false after any failure.
  template <class Signature>
  bool read_signature(Signature& signature) {
    signature = Signature{};
    signature.visit(*this);
    finish();
    check_overlap(signature);
    return error() == Error::ok;
  }

  // Reads a whole signature into the state memory and makes it the plan; null after any failure.
  template <class Signature>
  Signature* read_plan() {
    auto* const plan = make_plan<Signature>();
    if (plan == nullptr) return nullptr;
    plan->visit(*this);
    finish();
    check_overlap(*plan);
    return error() == Error::ok ? plan : nullptr;
  }

  // Test builds require that planned scratch equals what the kernel needs (unless the program comes from another
  // compiler or targets any ISA); every build requires that it is neither smaller nor less aligned.
  void require_scratch(const Tensor& scratch, std::uint32_t bytes, std::uint32_t alignment = 4);
  // For tensors of lists, which no signature shows: they must share no memory. Those of signatures are checked already.
  void require_apart(const Tensor& a, const Tensor& b);
  // For inner loops whose loads need more than the element's own alignment, which the loader has checked.
  void require_aligned(const Tensor& tensor, std::uint32_t alignment);
  // What a load reads of a tensor it has from here and from nowhere else (tests/include_test.cc): the header of a
  // packed constant, or all elements of one. Nothing if it is no constant, too short or misaligned, or if any check
  // before has failed: so nothing is read that was not checked.
  template <class Header>
  const Header* packed(const Tensor& tensor, std::uint32_t alignment) {
    return is_readable(tensor, sizeof(Header), alignment) ? tensor.as<const Header>() : nullptr;
  }
  // What follows a header that packed() has given; null if a check since has failed.
  template <class T, class Header>
  [[nodiscard]] const T* after(const Header* header) const {
    return error() == Error::ok ? reinterpret_cast<const T*>(header + 1) : nullptr;
  }
  template <class T>
  std::span<const T> elements(const Tensor& tensor) {
    const std::uint32_t bytes = is_readable(tensor, 0, alignof(T)) ? tensor.bytes() : 0;
    return {tensor.as<const T>(), bytes / sizeof(T)};
  }
  // For checks that are one condition each: call.require(a.dtype == DType::i8, Error::bad_value).
  void require(bool condition, Error error) {
    if (!condition) fail(error);
  }
  void fail(Error error, std::uint32_t required = 0, std::uint32_t actual = 0);

  // The types of all its tensors, read or not (runtime/call_types.h).
  [[nodiscard]] CallTypes types() const;

  void set_plan(void* plan) { plan_ = plan; }
  [[nodiscard]] const void* plan() const { return plan_; }
  [[nodiscard]] Error error() const { return failure_->error; }

 private:
  friend class Loader;
  explicit Call(class Loader& loader, Failure& failure) : loader_(&loader), failure_(&failure) {}

  void* take(std::size_t bytes, std::size_t alignment);
  void count_on_target(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t count);
  template <class T>
  void count_on_target([[maybe_unused]] std::uint32_t count) {
    using Size = StateSize<T>;
    if constexpr (kIsCortexM) {
      static_assert(sizeof(T) == Size::kBytes, "T::kStateBytes is another number");
      static_assert(alignof(T) == Size::kAlignment, "T::kStateAlignment is another number");
    } else {
      count_on_target(Size::kBytes, Size::kAlignment, count);
    }
  }
  bool is_readable(const Tensor& tensor, std::uint32_t bytes, std::uint32_t alignment);

  // The value index of the next argument, which is from now on the one at fault; negative after a failure.
  std::int32_t next_argument();
  void read(Tensor& field, Role role);
  void read(OptionalTensor& field);
  void read(std::int32_t& field);
  void read(float& field);
  void read(bool& field);
  void read(std::uint32_t& count, std::span<std::int32_t> items);
  void read(OptionalInt& field);
  void read(OptionalIntList& field);
  void read(TensorList& field);
  void read(DType& field);
  void read(Scalar& field);
  void read(OptionalScalar& field);
  void read(std::string_view& field);  // empty where the file has none
  void read(Number& field);
  void read(OptionalNumber& field);
  void read_number(std::int32_t value, Number& field);
  void read(OptionalFloatPair& field);
  void read(OptionalTensorList& field);
  void read_scalar(std::int32_t value, Scalar& field);
  // The tensors of a signature, one after another.
  struct Tensors {
    const Tensor** next;
    void operator()(const char* /*name*/, Tensor& field) { *next++ = &field; }
    void operator()(const char* /*name*/, OptionalTensor& field) { *next++ = &field; }
    void operator()(const char* /*name*/, OutTensor& field) { *next++ = &field; }
    void operator()(const char* /*name*/, ScratchTensor& field) { *next++ = &field; }
    template <class Other>
    void operator()(const char* /*name*/, Other& /*field*/) {}
  };
  // Scratch and results are apart from what they may not share memory with. Not inlined: the list is not needed while
  // arguments are read.
  template <class Signature>
  [[gnu::noinline]] void check_overlap(Signature& signature) {
    constexpr Overlap kPermitted = [] {
      if constexpr (requires { Signature::kOverlap; }) return Signature::kOverlap;
      return Overlap::none;
    }();
    const Tensor* tensors[sizeof(Signature) / sizeof(Tensor)];  // it has no more
    Tensors list{tensors};
    signature.visit(list);
    check_overlap(tensors, list.next, kPermitted);
  }
  void check_overlap(const Tensor** begin, const Tensor** end, Overlap permitted);
  // Every argument of the program was read. It may be followed only by what ExecuTorch's compiler appends: the
  // operator's results, which are its out arguments again.
  void finish();

  class Loader* loader_;
  Failure* failure_;
  void* plan_ = nullptr;
  std::uint16_t next_ = 0;
  bool computes_nothing_ = false;  // all results are empty: execute is not called, so kernels need not handle this
};

// Defines a kernel that the generated operator table refers to by symbol. The symbol is the operator's name with "::"
// and "." as "_", and for operators that are not ours (whose name does not include the ISA) with the ISA appended:
// cormorant_conv2d_mve_1x1, cortex_m_quantized_add_out_mve. An operator's kernels get theirs from its list
// (ops/load/kernel_list.h).
#define CORMORANT_KERNEL(symbol, name, load, execute)       \
  extern "C" {                                              \
  extern const ::cormorant::Kernel symbol;                  \
  const ::cormorant::Kernel symbol = {name, load, execute}; \
  }

}  // namespace cormorant
