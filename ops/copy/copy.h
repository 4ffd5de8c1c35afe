// SPDX-License-Identifier: Apache-2.0
//
// Copies, as ExecuTorch's compiler writes them where ours shares the memory: the same elements in the same shape,
// perhaps in another memory order, or with dimensions of size 1 put in or taken out. No node of our own compiler
// becomes one; they are here for files of other compilers.
#pragma once

#include <cstdint>

namespace cormorant::ops {

template <class W>
struct PlainCopy {
  static constexpr const char* kName = "aten::alias_copy.out";
  typename W::Tensor self{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("out", out);
  }
};

template <class W>
struct Clone {
  static constexpr const char* kName = "aten::clone.out";
  typename W::Tensor self{};
  typename W::OptionalInt memory_format{};  // says what out's dim order says
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("memory_format", memory_format);
    v("out", out);
  }
};

template <class W>
struct ToCopy {
  static constexpr const char* kName = "aten::_to_copy.out";
  typename W::Tensor self{};
  typename W::Bool non_blocking{};
  typename W::OptionalInt memory_format{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("non_blocking", non_blocking);
    v("memory_format", memory_format);
    v("out", out);
  }
};

template <class W>
struct DimOrderCopy {
  static constexpr const char* kName = "dim_order_ops::_clone_dim_order.out";
  typename W::Tensor self{};
  typename W::Bool non_blocking{};
  typename W::OptionalIntList dim_order{};  // out has it too
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("non_blocking", non_blocking);
    v("dim_order", dim_order);
    v("out", out);
  }
};

// unsqueeze_copy, and squeeze_copy of one dimension.
template <class W>
struct SqueezeCopy {
  static constexpr const char* kName = "aten::unsqueeze_copy.out";
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("dim", dim);
    v("out", out);
  }
};

template <class W>
struct SqueezeDimsCopy {
  static constexpr const char* kName = "aten::squeeze_copy.dims_out";
  typename W::Tensor self{};
  typename W::IntList dim{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("dim", dim);
    v("out", out);
  }
};

inline constexpr const char* kDetachCopy = "aten::detach_copy.out";
inline constexpr const char* kLiftFreshCopy = "aten::lift_fresh_copy.out";
inline constexpr const char* kToDimOrderCopy = "dim_order_ops::_to_dim_order_copy.out";
inline constexpr const char* kSqueezeDimCopy = "aten::squeeze_copy.dim_out";

}  // namespace cormorant::ops
