// SPDX-License-Identifier: Apache-2.0
//
// Batch norm: folded into what is before it, or a product and a sum. Only other compilers' programs have it as an
// instruction.
#pragma once

#include "ops/load/kernel_list.h"

#define CORMORANT_BATCH_NORM_KERNELS(OURS, THEIRS, FOREIGN)                                         \
  FOREIGN(aten, _native_batch_norm_legit_no_training, out, any_cpu, load<NoTraining>, execute, f32) \
  FOREIGN(aten, _native_batch_norm_legit, out, any_cpu, load<Legit>, execute, f32)                  \
  FOREIGN(aten, _native_batch_norm_legit, no_stats_out, any_cpu, load_no_stats, execute_no_stats, f32)
CORMORANT_NAMES(CORMORANT_BATCH_NORM_KERNELS)
