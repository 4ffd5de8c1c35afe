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
  identity
  layer_norm
  linear
  max_pool2d
  pad
  quantize
  softmax
  transpose
  view
)
