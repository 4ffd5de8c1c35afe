# SPDX-License-Identifier: Apache-2.0
# One line per operator: the folder's name. Everything else about an operator stands in its folder.
set(CORMORANT_OPERATORS
  activation
  add
  avg_pool2d
  batch_matmul
  batch_norm
  cat
  clamp
  conv2d
  depthwise_conv2d
  dequantize
  expand
  flip
  identity
  linear
  max_pool2d
  minimum_maximum
  mul
  pad
  quantize
  repeat_interleave
  slice
  softmax
  transpose
  view
)
