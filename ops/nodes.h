// SPDX-License-Identifier: Apache-2.0
//
// The names of nodes that are spoken of outside their operator's folder, and the only place outside of it that spells
// them: a table of operators has each (ops/op.h). What one folder alone knows is spelled there; the instructions of its
// list are graph_name(names::…).
#pragma once

#include <string_view>

namespace cormorant::ops::nodes {

// PyTorch's, which import yields and passes rewrite.
inline constexpr const char* aten_adaptive_avg_pool2d = "aten.adaptive_avg_pool2d";
inline constexpr const char* aten_add = "aten.add";
inline constexpr const char* aten_alias_copy = "aten.alias_copy";
inline constexpr const char* aten_amax = "aten.amax";
inline constexpr const char* aten_amin = "aten.amin";
inline constexpr const char* aten_argmax = "aten.argmax";
inline constexpr const char* aten_argmin = "aten.argmin";
inline constexpr const char* aten_atan2 = "aten.atan2";
inline constexpr const char* aten_avg_pool2d = "aten.avg_pool2d";
inline constexpr const char* aten_batch_norm = "aten.batch_norm";
inline constexpr const char* aten_bitwise_and_Tensor_out = "aten.bitwise_and.Tensor_out";
inline constexpr const char* aten_bitwise_left_shift_Tensor_out = "aten.bitwise_left_shift.Tensor_out";
inline constexpr const char* aten_bitwise_or_Tensor_out = "aten.bitwise_or.Tensor_out";
inline constexpr const char* aten_bitwise_right_shift_Tensor_out = "aten.bitwise_right_shift.Tensor_out";
inline constexpr const char* aten_bitwise_xor_Tensor_out = "aten.bitwise_xor.Tensor_out";
inline constexpr const char* aten_bmm = "aten.bmm";
inline constexpr const char* aten_cat = "aten.cat";
inline constexpr const char* aten_clamp = "aten.clamp";
inline constexpr const char* aten_clone = "aten.clone";
inline constexpr const char* aten_conv2d = "aten.conv2d";
inline constexpr const char* aten_conv_transpose2d = "aten.conv_transpose2d";
inline constexpr const char* aten_copy_ = "aten.copy_";
inline constexpr const char* aten_cumsum = "aten.cumsum";
inline constexpr const char* aten_div = "aten.div";
inline constexpr const char* aten_eq_Tensor_out = "aten.eq.Tensor_out";
inline constexpr const char* aten_expand = "aten.expand";
inline constexpr const char* aten_flip = "aten.flip";
inline constexpr const char* aten_floor_divide = "aten.floor_divide";
inline constexpr const char* aten_gather = "aten.gather";
inline constexpr const char* aten_ge_Tensor_out = "aten.ge.Tensor_out";
inline constexpr const char* aten_gt_Tensor_out = "aten.gt.Tensor_out";
inline constexpr const char* aten_hardsigmoid = "aten.hardsigmoid";
inline constexpr const char* aten_hardswish = "aten.hardswish";
inline constexpr const char* aten_index_copy = "aten.index_copy";
inline constexpr const char* aten_index_select = "aten.index_select";
inline constexpr const char* aten_isinf = "aten.isinf";
inline constexpr const char* aten_isnan = "aten.isnan";
inline constexpr const char* aten_le_Tensor_out = "aten.le.Tensor_out";
inline constexpr const char* aten_leaky_relu = "aten.leaky_relu";
inline constexpr const char* aten_linear = "aten.linear";
inline constexpr const char* aten_log_softmax = "aten.log_softmax";
inline constexpr const char* aten_logical_and = "aten.logical_and";
inline constexpr const char* aten_logical_not = "aten.logical_not";
inline constexpr const char* aten_logical_or = "aten.logical_or";
inline constexpr const char* aten_logical_xor = "aten.logical_xor";
inline constexpr const char* aten_lt_Tensor_out = "aten.lt.Tensor_out";
inline constexpr const char* aten_max_pool2d = "aten.max_pool2d";
inline constexpr const char* aten_maximum = "aten.maximum";
inline constexpr const char* aten_mean = "aten.mean";
inline constexpr const char* aten_minimum = "aten.minimum";
inline constexpr const char* aten_moving_mean = "aten.moving_mean";
inline constexpr const char* aten_mul = "aten.mul";
inline constexpr const char* aten_ne_Tensor_out = "aten.ne.Tensor_out";
inline constexpr const char* aten_pad = "aten.pad";
inline constexpr const char* aten_permute = "aten.permute";
inline constexpr const char* aten_permute_copy = "aten.permute_copy";
inline constexpr const char* aten_pow_Tensor_Tensor_out = "aten.pow.Tensor_Tensor_out";
inline constexpr const char* aten_pow_of_base = "aten.pow_of_base";
inline constexpr const char* aten_prelu = "aten.prelu";
inline constexpr const char* aten_recurrent = "aten.recurrent";
inline constexpr const char* aten_repeat_interleave = "aten.repeat_interleave";
inline constexpr const char* aten_scatter_add = "aten.scatter_add";
inline constexpr const char* aten_scatter_src_out = "aten.scatter.src_out";
inline constexpr const char* aten_sigmoid = "aten.sigmoid";
inline constexpr const char* aten_slice = "aten.slice";
inline constexpr const char* aten_softmax = "aten.softmax";
inline constexpr const char* aten_sum = "aten.sum";
inline constexpr const char* aten_tanh = "aten.tanh";
inline constexpr const char* aten_update_ring = "aten.update_ring";
inline constexpr const char* aten_view = "aten.view";
inline constexpr const char* aten_where_self_out = "aten.where.self_out";

// Conversions between real and quantized numbers, as PT2E and our quantizer insert them.
inline constexpr const char* quantized_decomposed_quantize_per_tensor = "quantized_decomposed.quantize_per_tensor";
inline constexpr const char* quantized_decomposed_dequantize_per_tensor = "quantized_decomposed.dequantize_per_tensor";
constexpr bool is_conversion(std::string_view op) { return op.starts_with("quantized_decomposed."); }
constexpr bool is_dequantization(std::string_view op) { return op.starts_with("quantized_decomposed.dequantize"); }

// ExecuTorch's, of programs.
inline constexpr const char* cortex_m_pad = "cortex_m.pad";
inline constexpr const char* cortex_m_quantize_per_tensor = "cortex_m.quantize_per_tensor";
inline constexpr const char* cortex_m_quantized_activation = "cortex_m.quantized_activation";
inline constexpr const char* cortex_m_quantized_conv2d = "cortex_m.quantized_conv2d";
inline constexpr const char* cortex_m_quantized_depthwise_conv2d = "cortex_m.quantized_depthwise_conv2d";
inline constexpr const char* cortex_m_quantized_linear = "cortex_m.quantized_linear";
inline constexpr const char* cortex_m_quantized_max_pool2d = "cortex_m.quantized_max_pool2d";
inline constexpr const char* cortex_m_transpose = "cortex_m.transpose";

// Our own.
inline constexpr const char* cormorant_abs_any = "cormorant.abs.any";
inline constexpr const char* cormorant_add_any = "cormorant.add.any";
inline constexpr const char* cormorant_amax_any = "cormorant.amax.any";
inline constexpr const char* cormorant_amin_any = "cormorant.amin.any";
inline constexpr const char* cormorant_argsort_any = "cormorant.argsort.any";
inline constexpr const char* cormorant_convert_any = "cormorant.convert.any";
inline constexpr const char* cormorant_copysign_any = "cormorant.copysign.any";
inline constexpr const char* cormorant_cummax_index_any = "cormorant.cummax_index.any";
inline constexpr const char* cormorant_cummin_index_any = "cormorant.cummin_index.any";
inline constexpr const char* cormorant_cumprod_any = "cormorant.cumprod.any";
inline constexpr const char* cormorant_flip_sign = "cormorant.flip_sign";
inline constexpr const char* cormorant_fmax_any = "cormorant.fmax.any";
inline constexpr const char* cormorant_fmin_any = "cormorant.fmin.any";
inline constexpr const char* cormorant_grid_sample_float = "cormorant.grid_sample.float";
inline constexpr const char* cormorant_hypot_any = "cormorant.hypot.any";
inline constexpr const char* cormorant_logaddexp_any = "cormorant.logaddexp.any";
inline constexpr const char* cormorant_logaddexp2_any = "cormorant.logaddexp2.any";
inline constexpr const char* cormorant_logcumsumexp_any = "cormorant.logcumsumexp.any";
inline constexpr const char* cormorant_maximum_any = "cormorant.maximum.any";
inline constexpr const char* cormorant_minimum_any = "cormorant.minimum.any";
inline constexpr const char* cormorant_mul_any = "cormorant.mul.any";
inline constexpr const char* cormorant_pad_words = "cormorant.pad.words";
inline constexpr const char* cormorant_prod_any = "cormorant.prod.any";
inline constexpr const char* cormorant_reinterpret = "cormorant.reinterpret";
inline constexpr const char* cormorant_relayout = "cormorant.relayout";
inline constexpr const char* cormorant_requantize = "cormorant.requantize";
inline constexpr const char* cormorant_rows_cut = "cormorant.rows.cut";
inline constexpr const char* cormorant_rows_feed = "cormorant.rows.feed";
inline constexpr const char* cormorant_rows_group = "cormorant.rows.group";
inline constexpr const char* cormorant_rows_paste = "cormorant.rows.paste";
inline constexpr const char* cormorant_rows_push = "cormorant.rows.push";
inline constexpr const char* cormorant_rows_slab = "cormorant.rows.slab";
inline constexpr const char* cormorant_rows_window = "cormorant.rows.window";
inline constexpr const char* cormorant_scatter_amax_any = "cormorant.scatter_amax.any";
inline constexpr const char* cormorant_scatter_amin_any = "cormorant.scatter_amin.any";
inline constexpr const char* cormorant_scatter_prod_any = "cormorant.scatter_prod.any";
inline constexpr const char* cormorant_searchsorted_any = "cormorant.searchsorted.any";
inline constexpr const char* cormorant_signbit_any = "cormorant.signbit.any";
inline constexpr const char* cormorant_sub_any = "cormorant.sub.any";
inline constexpr const char* cormorant_sum_any = "cormorant.sum.any";
inline constexpr const char* cormorant_taps_float = "cormorant.taps.float";
inline constexpr const char* cormorant_trunc_divide_any = "cormorant.trunc_divide.any";
inline constexpr const char* cormorant_xlog1py_any = "cormorant.xlog1py.any";
inline constexpr const char* cormorant_xlogy_any = "cormorant.xlogy.any";

// What the names of all variants begin with.
inline constexpr const char* cormorant_avg_pool2d_ = "cormorant.avg_pool2d.";
inline constexpr const char* cormorant_flip_sign_ = "cormorant.flip_sign.";
inline constexpr const char* cormorant_rows_ = "cormorant.rows.";

}  // namespace cormorant::ops::nodes
