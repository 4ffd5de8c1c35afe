# SPDX-License-Identifier: Apache-2.0
# One line per operator: the folder's name. Everything else about an operator stands in its folder.
set(CORMORANT_OPERATORS
  activation
  add
  avg_pool2d
  batch_norm
  clamp
  conv2d
  depthwise_conv2d
  dequantize
  identity
  linear
  max_pool2d
  pad
  quantize
  reduce
  softmax
  transpose
  view
)
