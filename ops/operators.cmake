# SPDX-License-Identifier: Apache-2.0
# One line per operator: the folder's name. Everything else about an operator stands in its folder.
set(CORMORANT_OPERATORS
  add
  avg_pool2d
  batch_norm
  cat
  clamp
  conv2d
  copy
  depthwise_conv2d
  dequantize
  expand
  flip
  identity
  linear
  pad
  quantize
  repeat_interleave
  slice
  softmax
  split
  transpose
  view
)
