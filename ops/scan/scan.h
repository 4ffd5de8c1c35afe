// SPDX-License-Identifier: Apache-2.0
//
// Along one dimension, each result combines all elements up to its own: sums, products, logarithms of sums of powers,
// and the index of the largest or smallest so far.
#pragma once

#include "base/fields.h"
#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_SCAN_KERNELS(OURS, THEIRS, FOREIGN) \
  THEIRS(aten, cumsum, out, any_cpu, load_sum, execute_scan<Sum>, numbers, CumulativeSum) \
  OURS(cumprod, any, any_cpu, load_scan, execute_scan<Product>, numbers, Scan) \
  OURS(logcumsumexp, any, any_cpu, load_scan, execute_scan<LogOfSum>, numbers, Scan) \
  OURS(cummax_index, any, any_cpu, load_scan, execute_index<1>, numbers, Scan) \
  OURS(cummin_index, any, any_cpu, load_scan, execute_index<-1>, numbers, Scan)
// clang-format on
CORMORANT_NAMES(CORMORANT_SCAN_KERNELS)

namespace cormorant::ops::scan {

template <class W>
struct Scan {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, out)
};

template <class W>
struct CumulativeSum {
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::OptionalInt dtype{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, dtype, out)
};

}  // namespace cormorant::ops::scan
