// SPDX-License-Identifier: Apache-2.0
//
// Operators of ExecuTorch's portable library that never occur in our graphs, because our compiler uses others for them
// or computes them itself: a number with a tensor, tensors from nothing, copies, paddings, indexing. They are here for
// files of other compilers, and reuse the plans of our own kernels wherever these compute the same.
#pragma once

#include "ops/load/kernel_list.h"

// clang-format off
#define CORMORANT_PORTABLE_KERNELS(OURS, THEIRS, FOREIGN) \
  /* a tensor and numbers: numbers.h */ \
  FOREIGN(aten, add, Scalar_out, any_cpu, load_number_alpha, map::execute_binary<map::Add>, numbers) \
  FOREIGN(aten, sub, Scalar_out, any_cpu, load_number_alpha, map::execute_binary<map::Subtract>, numbers) \
  FOREIGN(aten, rsub, Scalar_out, any_cpu, load_reversed, map::execute_where<ReverseSubtract>, numbers) \
  FOREIGN(aten, mul, Scalar_out, any_cpu, load_number, map::execute_binary<map::Multiply>, numbers) \
  FOREIGN(aten, div, Scalar_out, any_cpu, load_number, map::execute_binary<Divide>, numbers) \
  FOREIGN(aten, div, Scalar_mode_out, any_cpu, load_number_mode, map::execute_where<DivideByMode>, numbers) \
  FOREIGN(aten, div, out_mode, any_cpu, load_tensor_mode, map::execute_where<DivideByMode>, numbers) \
  FOREIGN(aten, fmod, Scalar_out, any_cpu, load_number, map::execute_binary<map::Fmod>, numbers) \
  FOREIGN(aten, remainder, Scalar_out, any_cpu, load_number, map::execute_binary<map::Remainder>, numbers) \
  FOREIGN(aten, eq, Scalar_out, any_cpu, load_number, map::execute_binary<map::Equal>, numbers) \
  FOREIGN(aten, ne, Scalar_out, any_cpu, load_number, map::execute_binary<map::NotEqual>, numbers) \
  FOREIGN(aten, lt, Scalar_out, any_cpu, load_number, map::execute_binary<map::Less>, numbers) \
  FOREIGN(aten, le, Scalar_out, any_cpu, load_number, map::execute_binary<map::LessEqual>, numbers) \
  FOREIGN(aten, gt, Scalar_out, any_cpu, load_number, map::execute_binary<map::Greater>, numbers) \
  FOREIGN(aten, ge, Scalar_out, any_cpu, load_number, map::execute_binary<map::GreaterEqual>, numbers) \
  FOREIGN(aten, bitwise_and, Scalar_out, any_cpu, load_number, map::execute_binary<map::BitwiseAnd>, numbers) \
  FOREIGN(aten, bitwise_or, Scalar_out, any_cpu, load_number, map::execute_binary<map::BitwiseOr>, numbers) \
  FOREIGN(aten, bitwise_xor, Scalar_out, any_cpu, load_number, map::execute_binary<map::BitwiseXor>, numbers) \
  FOREIGN(aten, bitwise_left_shift, Tensor_Scalar_out, any_cpu, load_number, map::execute_binary<map::LeftShift>, numbers) \
  FOREIGN(aten, bitwise_right_shift, Tensor_Scalar_out, any_cpu, load_number, map::execute_binary<map::RightShift>, numbers) \
  FOREIGN(aten, clamp, Tensor_out, any_cpu, load_clamp_tensor, map::execute_where<Clamp>, numbers) \
  FOREIGN(aten, masked_fill, Scalar_out, any_cpu, load_masked_fill, map::execute_where<map::Choose>, numbers) \
  FOREIGN(aten, masked_scatter, out, any_cpu, load_masked_scatter, execute_masked_scatter, numbers) \
  FOREIGN(aten, copy, out, any_cpu, load_copy, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, fill, Scalar_out, any_cpu, load_fill<FillLike>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, fill, Tensor_out, any_cpu, load_fill_tensor, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, full, out, any_cpu, load_fill<Full>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, full_like, out, any_cpu, load_fill<FullLike>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, zeros, out, any_cpu, load_fill<Sized<0>>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, ones, out, any_cpu, load_fill<Sized<1>>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, empty, out, any_cpu, load_fill<Empty>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(dim_order_ops, _empty_dim_order, out, any_cpu, load_fill<EmptyDimOrder>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, scalar_tensor, out, any_cpu, load_fill<ScalarTensor>, map::execute_unary<map::Convert>, numbers) \
  FOREIGN(aten, arange, out, any_cpu, load_arange<UpTo>, execute_arange, numbers) \
  FOREIGN(aten, arange, start_out, any_cpu, load_arange<FromTo>, execute_arange, numbers) \
  FOREIGN(aten, glu, out, any_cpu, load_glu, execute_glu, f32) \
  /* places that indices say: indices.h */ \
  FOREIGN(aten, embedding, out, any_cpu, load_embedding, gather::execute_select, any) \
  FOREIGN(aten, index, Tensor_out, any_cpu, load_index, execute_index, any) \
  FOREIGN(aten, index_put, out, any_cpu, load_index_put, execute_index_put, numbers) \
  FOREIGN(aten, scatter, value_out, any_cpu, load_scatter_value, scatter::execute_scatter<scatter::Set>, numbers) \
  FOREIGN(aten, select_scatter, out, any_cpu, load_select_scatter, execute_part, any) \
  FOREIGN(aten, slice_scatter, out, any_cpu, load_slice_scatter, execute_part, any) \
  FOREIGN(aten, topk, values, any_cpu, load_topk, execute_topk, numbers) \
  /* reductions: reductions.h */ \
  FOREIGN(aten, max, dim_max, any_cpu, load_extreme_along, execute_extreme_along<1>, numbers) \
  FOREIGN(aten, min, dim_min, any_cpu, load_extreme_along, execute_extreme_along<-1>, numbers) \
  FOREIGN(aten, max, unary_out, any_cpu, load_all<ReduceAll>, reduce_any::execute_reduce<reduce_any::Largest>, numbers) \
  FOREIGN(aten, min, unary_out, any_cpu, load_all<ReduceAll>, reduce_any::execute_reduce<reduce_any::Smallest>, numbers) \
  FOREIGN(aten, any, all_out, any_cpu, load_all<ReduceAll>, execute_any, numbers) \
  FOREIGN(aten, any, out, any_cpu, load_any_along, execute_any, numbers) \
  FOREIGN(aten, any, dims_out, any_cpu, load_any_dims, execute_any, numbers) \
  FOREIGN(aten, prod, out, any_cpu, load_all<ReduceAllTyped>, reduce_any::execute_reduce<reduce_any::Product>, numbers) \
  FOREIGN(aten, prod, int_out, any_cpu, load_prod, reduce_any::execute_reduce<reduce_any::Product>, numbers) \
  FOREIGN(aten, mean, dtype_out, any_cpu, load_all<ReduceAllTyped>, execute_mean_of_all, f32) \
  FOREIGN(aten, var, out, any_cpu, load_var<VarUnbiased>, execute_var, f32) \
  FOREIGN(aten, var, correction_out, any_cpu, load_var<VarCorrection>, execute_var, f32) \
  FOREIGN(aten, var_mean, correction_out, any_cpu, load_var<VarMean>, execute_var, f32) \
  FOREIGN(aten, _cdist_forward, out, any_cpu, load_cdist, execute_cdist, f32) \
  FOREIGN(aten, _pdist_forward, out, any_cpu, load_pdist, execute_pdist, f32) \
  /* elements at other places: kernel.cc and places.h */ \
  FOREIGN(aten, t_copy, out, scalar_dsp_mve, load_t_copy, execute_move<kLoops>, any) \
  FOREIGN(aten, transpose_copy, int_out, scalar_dsp_mve, load_transpose_copy, execute_move<kLoops>, any) \
  FOREIGN(aten, narrow_copy, out, scalar_dsp_mve, load_narrow_copy, execute_move<kLoops>, any) \
  FOREIGN(aten, diagonal_copy, out, scalar_dsp_mve, load_diagonal_copy, execute_move<kLoops>, any) \
  FOREIGN(aten, unfold_copy, out, scalar_dsp_mve, load_unfold_copy, execute_move<kLoops>, any) \
  FOREIGN(aten, as_strided_copy, out, scalar_dsp_mve, load_as_strided_copy, execute_move<kLoops>, any) \
  FOREIGN(aten, pixel_shuffle, out, scalar_dsp_mve, load_pixel_shuffle, execute_move<kLoops>, any) \
  FOREIGN(aten, pixel_unshuffle, out, scalar_dsp_mve, load_pixel_unshuffle, execute_move<kLoops>, any) \
  FOREIGN(aten, tril, out, any_cpu, load_tril, execute_tril, any) \
  FOREIGN(aten, roll, out, any_cpu, load_roll, execute_places, any) \
  FOREIGN(aten, reflection_pad1d, out, any_cpu, load_pad<Border::reflection>, execute_places, any) \
  FOREIGN(aten, reflection_pad2d, out, any_cpu, load_pad<Border::reflection>, execute_places, any) \
  FOREIGN(aten, reflection_pad3d, out, any_cpu, load_pad<Border::reflection>, execute_places, any) \
  FOREIGN(aten, replication_pad1d, out, any_cpu, load_pad<Border::replication>, execute_places, any) \
  FOREIGN(aten, replication_pad2d, out, any_cpu, load_pad<Border::replication>, execute_places, any) \
  FOREIGN(aten, replication_pad3d, out, any_cpu, load_pad<Border::replication>, execute_places, any) \
  /* images: images.h */ \
  FOREIGN(aten, upsample_nearest2d, vec_out, any_cpu, load_nearest, execute_nearest, any) \
  FOREIGN(aten, upsample_bilinear2d, vec_out, any_cpu, load_bilinear, execute_bilinear, f32) \
  FOREIGN(aten, _upsample_bilinear2d_aa, out, any_cpu, load_smooth, execute_smooth, f32) \
  FOREIGN(aten, grid_sampler_2d, out, any_cpu, grid_sample::load_grid_sample, grid_sample::execute_grid_sample, f32)
// For types other than float: typed.h.
#define CORMORANT_PORTABLE_NUMBERS(NUMBERS) \
  NUMBERS(aten, add, out, load_two_alpha, map::execute_where<AddScaled>) \
  NUMBERS(aten, sub, out, load_two_alpha, map::execute_where<SubtractScaled>) \
  NUMBERS(aten, mul, out, load_two, map::execute_binary<map::Multiply>) \
  NUMBERS(aten, div, out, load_two, map::execute_binary<Divide>) \
  NUMBERS(aten, maximum, out, load_two, map::execute_binary<map::Maximum>) \
  NUMBERS(aten, minimum, out, load_two, map::execute_binary<map::Minimum>) \
  NUMBERS(aten, pow, Tensor_Scalar_out, load_number, map::execute_binary<map::Pow>) \
  NUMBERS(aten, pow, Scalar_out, load_number_first, map::execute_binary<map::Pow>) \
  NUMBERS(aten, abs, out, load_one, map::execute_unary<map::Absolute>) \
  NUMBERS(aten, neg, out, load_one, map::execute_unary<Negate>) \
  NUMBERS(aten, sign, out, load_one, map::execute_unary<Sign>) \
  NUMBERS(aten, relu, out, load_one, map::execute_unary<Relu>) \
  NUMBERS(aten, cat, out, load_cat_numbers, execute_cat_numbers) \
  NUMBERS(aten, ceil, out, load_one, map::execute_unary<Whole<float_math::ceil>>) \
  NUMBERS(aten, floor, out, load_one, map::execute_unary<Whole<float_math::floor>>) \
  NUMBERS(aten, round, out, load_one, map::execute_unary<Whole<float_math::round>>) \
  NUMBERS(aten, trunc, out, load_one, map::execute_unary<Whole<float_math::trunc>>) \
  NUMBERS(aten, clamp, out, load_clamp_numbers, map::execute_where<Clamp>) \
  NUMBERS(aten, _to_copy, out, load_converted<OptionalInt>, map::execute_unary<map::Convert>) \
  NUMBERS(dim_order_ops, _to_dim_order_copy, out, load_converted<OptionalIntList>, map::execute_unary<map::Convert>) \
  NUMBERS(aten, amax, out, load_dims<ReduceDims>, reduce_any::execute_reduce<reduce_any::Largest>) \
  NUMBERS(aten, amin, out, load_dims<ReduceDims>, reduce_any::execute_reduce<reduce_any::Smallest>) \
  NUMBERS(aten, sum, IntList_out, load_dims<ReduceDimsTyped>, reduce_any::execute_reduce<reduce_any::Sum>) \
  NUMBERS(aten, constant_pad_nd, out, load_pad_number, execute_places) \
  NUMBERS(aten, max_pool2d_with_indices, out, load_max_pool, execute_max_pool)
// clang-format on
CORMORANT_NAMES(CORMORANT_PORTABLE_KERNELS)
