#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts which operators of ExecuTorch's portable library run here from its own files, with its answers.

usage: portable.py CORMORANT WORK_DIR [--board TARGET] [--ours] [NAME...]
       portable.py --test-programs FOLDER       makes those of tests/executorch

For each name of its list (kernels/portable/functions.yaml) there are one or more modules that call this operator alone.
ExecuTorch's compiler makes a .pte of each, without any backend; its runtime and ours execute that file. Outcomes:
  right     equal within 1e-5 of the largest value; integers and booleans exactly. Where ExecuTorch's runtime
            contradicts PyTorch (remainders of integers), PyTorch's answer
  wrong     anything else that was computed
  refused   our runtime does not load the file
  no file   ExecuTorch's compiler makes another operator of it, or none, or its runtime does not execute it
A name holds if all of its files are right. The exit status is 1 if a file is wrong or refused.

With --ours the other way round: the same modules, exported (.pt2), compiled here with --runtime=executorch in float and
executed by ExecuTorch's runtime, give PyTorch's answer or are refused by name. What is wrong, or has an operator that is
none of its portable ones, is an error. So it is for models with state (zoo/state), step by step.
"""
import argparse
import collections
import math
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import torch

import upstream
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.runtime import Runtime

TOLERANCE = 1e-5
# Why a name is not asked for.
LEFT_OUT = {
    "rand.out": "random numbers", "randn.out": "random numbers", "native_dropout.out": "training",
    "convolution_backward.out": "training", "max_pool2d_with_indices_backward.grad_input": "training",
    "masked_select.out": "shape depends on data", "nonzero.out": "shape depends on data",
    "repeat_interleave.Tensor_out": "shape depends on data",
    "_conj_physical.out": "complex numbers", "view_as_real_copy.out": "complex numbers",
    "et_copy::_h2d_copy.out": "copies between devices", "et_copy::_d2h_copy.out": "copies between devices",
}


def real(*shape, low=-2.0, high=2.0):
    return torch.rand(*shape) * (high - low) + low


def positive(*shape):
    return real(*shape, low=0.1, high=3.0)


def whole(*shape, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


def truth(*shape):
    return torch.rand(*shape) > 0.5


def cases():
    """Name in a program -> [(functional operator, arguments)]. Tensors are inputs, all else constant."""
    table = collections.defaultdict(list)

    def add(name, *arguments, op=None, **named):
        """The functional operator has the name without _out, unless it is given."""
        if op is None:
            base, _, overload = name.partition(".")
            overload = "" if overload == "out" else overload.removesuffix("_out")
            op = f"{base}.{overload or 'default'}"
        table[name].append((op, arguments, named))

    x, y, i, j = real(2, 3, 4), real(2, 3, 4), whole(2, 3, 4), whole(2, 3, 4)
    i32, image = whole(2, 3, 4, dtype=torch.int32), real(1, 2, 5, 6)
    # Functions of one element.
    for name in "abs acos asin atan ceil cos cosh erf exp expm1 floor neg relu round sigmoid sign sin sinh tan tanh trunc".split():
        add(f"{name}.out", x / 2)
    for name in "log log10 log1p log2 reciprocal rsqrt sqrt".split():
        add(f"{name}.out", positive(2, 7))
    add("acosh.out", positive(5) + 1), add("asinh.out", x), add("atanh.out", x / 3)
    for name in "abs neg sign relu".split():
        add(f"{name}.out", i)
    add("ceil.out", i), add("exp.out", i32 / 1.0), add("isnan.out", x / (x > 0)), add("isinf.out", x / (x > 0))
    add("exp.out", i), add("sqrt.out", i.abs()), add("sigmoid.out", i32)
    add("logical_not.out", truth(5)), add("bitwise_not.out", i), add("bitwise_not.out", truth(7))
    add("elu.out", x), add("elu.out", x, 0.5), add("gelu.out", x), add("gelu.out", x, approximate="tanh")
    add("leaky_relu.out", x, 0.2), add("logit.out", positive(6) / 4), add("logit.out", x, 0.1)
    add("hardtanh.out", x), add("hardtanh.out", x, -0.5, 1.5), add("glu.out", x), add("glu.out", real(2, 4, 3), 1)
    add("clamp.out", x, -0.5, 1), add("clamp.out", i, -2, 3), add("clamp.out", x, None, 1.0)
    add("clamp.Tensor_out", x, y - 1, y), add("clamp.Tensor_out", x, None, real(4)), add("clamp.Tensor_out", i, j - 2, j)
    # Of two.
    for name in "add sub mul div maximum minimum".split():
        add(f"{name}.out", x, y, op=f"{name}.Tensor" if len(name) == 3 else None)
        add(f"{name}.out", x, real(3, 1), op=f"{name}.Tensor" if len(name) == 3 else None)
        add(f"{name}.out", i, j.abs() + 1, op=f"{name}.Tensor" if len(name) == 3 else None)
        add(f"{name}.out", i32, x, op=f"{name}.Tensor" if len(name) == 3 else None)
    add("add.out", i, j, alpha=3, op="add.Tensor"), add("sub.out", x, y, alpha=0.5, op="sub.Tensor")
    add("atan2.out", x, y), add("floor_divide.out", x, y), add("floor_divide.out", i, j.abs() + 1)
    for name in "fmod remainder".split():
        add(f"{name}.Tensor_out", x, y), add(f"{name}.Tensor_out", i, j.abs() + 1)
        add(f"{name}.Scalar_out", x, 0.7), add(f"{name}.Scalar_out", i, -3), add(f"{name}.Scalar_out", i, 2.5)
    add("pow.Tensor_Tensor_out", positive(2, 3), real(3)), add("pow.Tensor_Tensor_out", i, j.abs())
    add("pow.Tensor_Scalar_out", x, 2), add("pow.Tensor_Scalar_out", positive(5), -0.5), add("pow.Tensor_Scalar_out", i, 3)
    add("pow.Scalar_out", 2.0, x), add("pow.Scalar_out", 2, i.abs())
    for name in "eq ne lt le gt ge".split():
        add(f"{name}.Tensor_out", i, j), add(f"{name}.Tensor_out", x, real(1, 4)), add(f"{name}.Tensor_out", i, x)
        add(f"{name}.Scalar_out", x, 0.5), add(f"{name}.Scalar_out", i, 1), add(f"{name}.Scalar_out", i, 0.5)
        add(f"{name}.Scalar_out", truth(6), True)
    for name in "and or xor".split():
        add(f"logical_{name}.out", truth(2, 3), truth(3)), add(f"logical_{name}.out", i, x.round())
        add(f"bitwise_{name}.Tensor_out", i, j), add(f"bitwise_{name}.Tensor_out", truth(6), truth(6))
        add(f"bitwise_{name}.Scalar_out", i, 6), add(f"bitwise_{name}.Scalar_out", i32, -3)
    for name in "left right".split():
        add(f"bitwise_{name}_shift.Tensor_out", i, j.abs()), add(f"bitwise_{name}_shift.Tensor_Scalar_out", i32, 2)
    add("add.Scalar_out", x, 1.5), add("add.Scalar_out", i, 3, 2), add("add.Scalar_out", i, 0.25)
    add("sub.Scalar_out", x, 1.5), add("sub.Scalar_out", i, 3, 2), add("mul.Scalar_out", x, -2), add("mul.Scalar_out", i32, 7)
    add("rsub.Scalar_out", x, 1.5, 2), add("rsub.Scalar_out", i, 3)
    add("div.Scalar_out", x, 3), add("div.Scalar_out", i, 4)
    for mode in (None, "trunc", "floor"):
        add("div.Scalar_mode_out", x, 0.7, rounding_mode=mode, op="div.Scalar_mode")
        add("div.Scalar_mode_out", i, -3, rounding_mode=mode, op="div.Scalar_mode")
        add("div.out_mode", x, y, rounding_mode=mode, op="div.Tensor_mode")
        add("div.out_mode", i, j.abs() + 1, rounding_mode=mode, op="div.Tensor_mode")
    add("where.self_out", truth(2, 3, 4), x, y), add("where.self_out", truth(4), i, j), add("where.self_out", truth(3, 1), x, real(1))
    add("masked_fill.Scalar_out", x, truth(2, 3, 4), -1.5), add("masked_fill.Scalar_out", i, truth(4), 7)
    add("masked_fill.Scalar_out", x, truth(3, 1), float("-inf"))
    add("masked_scatter.out", x, truth(2, 3, 4), real(24)), add("masked_scatter.out", i, truth(4), whole(24))
    # Made of nothing.
    add("full.out", [2, 3], 1.5), add("full.out", [4], 7, dtype=torch.int64), add("full.out", [2], True, dtype=torch.bool)
    add("full_like.out", x, -2.5), add("full_like.out", i, 3), add("fill.Scalar_out", x, 0.5), add("fill.Scalar_out", i, -9)
    add("fill.Tensor_out", x, torch.tensor(2.5)), add("fill.Tensor_out", i, torch.tensor(4))
    add("zeros.out", [2, 3]), add("zeros.out", [5], dtype=torch.int32), add("ones.out", [3]), add("ones.out", [2, 2], dtype=torch.bool)
    add("scalar_tensor.out", 2.5), add("scalar_tensor.out", 3, dtype=torch.int64)
    add("arange.out", 7, op="arange.default"), add("arange.out", 2.5, op="arange.default"), add("arange.start_out", 2, 11, 3, op="arange.start_step")
    add("arange.start_out", 1.0, 2.0, 0.25, op="arange.start_step"), add("arange.start_out", 5, -4, -2, op="arange.start_step")
    # By indices.
    add("embedding.out", real(7, 3), whole(2, 5, low=0, high=7)), add("embedding.out", real(4, 2), whole(3, low=0, high=4, dtype=torch.int32))
    add("index.Tensor_out", real(5, 4, 3), [whole(2, 3, low=0, high=5)])
    add("index.Tensor_out", real(5, 4, 3), [whole(6, low=-5, high=5), whole(6, low=0, high=4)])
    add("index.Tensor_out", real(5, 4, 3), [None, whole(2, 1, low=0, high=4), whole(3, low=0, high=3)])
    add("index.Tensor_out", real(5, 4, 3), [whole(2, low=0, high=5), None, whole(2, low=0, high=3)])
    add("index.Tensor_out", i, [None, None, whole(5, low=0, high=4)])
    add("index_put.out", real(5, 4), [torch.tensor([0, 3, -1])], real(3, 4))
    add("index_put.out", real(5, 4), [torch.tensor([0, 3, 0]), torch.tensor([1, 1, 1])], real(3), True)
    add("index_put.out", real(5, 4, 3), [None, torch.tensor([2, 0])], real(1))
    add("index_put_", real(5, 4), [torch.tensor([0, 3, -1])], real(3, 4), op="index_put_.default")
    add("index_select.out", real(5, 4, 3), 1, whole(6, low=0, high=4)), add("gather.out", real(5, 4), 1, whole(5, 3, low=0, high=4))
    add("scatter.src_out", real(5, 4), 0, whole(2, 4, low=0, high=5), real(2, 4))
    add("scatter.value_out", real(5, 4), 1, whole(5, 2, low=0, high=4), 2.5), add("scatter.value_out", i, -1, whole(2, 3, 2, low=0, high=4), 9)
    add("scatter_add.out", real(5, 4), 0, whole(3, 4, low=0, high=5), real(3, 4))
    add("select_scatter.out", x, real(2, 4), 1, -1), add("select_scatter.out", i, whole(3, 4), 0, 1)
    add("slice_scatter.out", x, real(2, 2, 4), 1, 1, 3), add("slice_scatter.out", real(9, 2), real(4, 2), 0, 1, None, 2)
    add("topk.values", real(3, 9), 4, op="topk.default"), add("topk.values", real(9, 3), 2, 0, False, op="topk.default")
    add("topk.values", whole(3, 9).unique(), 2, op="topk.default")
    # Reductions.
    for name in "max min".split():
        add(f"{name}.dim_{name}", x, 1, op=f"{name}.dim"), add(f"{name}.dim_{name}", i, -1, True, op=f"{name}.dim")
        add(f"{name}.unary_out", x, op=f"{name}.default"), add(f"{name}.unary_out", i, op=f"{name}.default")
        add(f"a{name}.out", x, [1]), add(f"a{name}.out", x, [0, 2], True), add(f"a{name}.out", i, [-1]), add(f"a{name}.out", x)
        add(f"arg{name}.out", x, 1), add(f"arg{name}.out", x), add(f"arg{name}.out", i, -1, True)
    add("any.all_out", truth(3, 4), op="any.default"), add("any.all_out", x, op="any.default")
    add("any.out", truth(3, 4) & truth(3, 4), 1, op="any.dim"), add("any.out", i.clamp(0), 0, True, op="any.dim")
    add("any.dims_out", truth(3, 4, 2), [0, 2], op="any.dims"), add("any.dims_out", x, [1], True, op="any.dims")
    add("prod.out", real(3, 4), op="prod.default"), add("prod.out", whole(5, low=1), op="prod.default")
    add("prod.int_out", x, 1, op="prod.dim_int"), add("prod.int_out", i, -1, True, op="prod.dim_int")
    add("mean.out", x, [1], op="mean.dim"), add("mean.out", x, [0, 2], True, op="mean.dim"), add("mean.dtype_out", x, op="mean.default")
    add("sum.IntList_out", x, [1], op="sum.dim_IntList"), add("sum.IntList_out", x, [-1, 0], True, op="sum.dim_IntList")
    add("sum.IntList_out", i, [2], op="sum.dim_IntList"), add("sum.IntList_out", truth(3, 5), [1], op="sum.dim_IntList")
    add("var.out", x, [1], op="var.dim"), add("var.out", x, [0, 2], False, True, op="var.dim")
    add("var.correction_out", x, [1], correction=2, op="var.correction"), add("var.correction_out", x, None, op="var.correction")
    add("var_mean.correction_out", x, [0, -1], keepdim=True, op="var_mean.correction")
    add("var_mean.correction_out", x, [1], correction=0, op="var_mean.correction")
    add("cumsum.out", x, 1), add("cumsum.out", i, -1)
    add("_softmax.out", x, -1, False), add("_log_softmax.out", x, 1, False)
    # Moves.
    for name in "alias_copy clone detach_copy lift_fresh_copy t_copy".split():
        add(f"{name}.out", real(3, 4)), add(f"{name}.out", whole(2, 5))
    add("copy.out", x, y), add("copy.out", x, i), add("copy.out", i, whole(4)), add("copy_", x, real(3, 4), op="copy_.default")
    add("_to_copy.out", x, dtype=torch.int64), add("_to_copy.out", i, dtype=torch.float32), add("_to_copy.out", x > 0, dtype=torch.float32)
    add("dim_order_ops::_to_dim_order_copy.out", x, dtype=torch.int32, op="_to_copy.default")
    add("dim_order_ops::_to_dim_order_copy.out", image, memory_format=torch.channels_last, op="_to_copy.default")
    add("dim_order_ops::_clone_dim_order.out", image, memory_format=torch.channels_last, op="clone.default")
    add("dim_order_ops::_empty_dim_order.out", [2, 3], op="empty.memory_format"), add("empty.out", [2, 3], op="empty.memory_format")
    add("view_copy.out", x, [4, 6]), add("expand_copy.out", real(3, 1), [2, 3, 4]), add("repeat.out", real(2, 3), [2, 1, 2])
    add("permute_copy.out", x, [2, 0, 1]), add("transpose_copy.int_out", x, 0, -1), add("transpose_copy.int_out", i, 1, 2)
    add("squeeze_copy.dim_out", real(2, 1, 3), 1), add("squeeze_copy.dims_out", real(2, 1, 3, 1), [1, -1]), add("unsqueeze_copy.out", x, -1)
    add("select_copy.int_out", x, 1, -1), add("slice_copy.Tensor_out", x, 2, 1, 4, 2), add("narrow_copy.out", x, 2, 1, 2)
    add("split_copy.Tensor_out", real(5, 4), 2, 0), add("split_with_sizes_copy.out", real(5, 4), [1, 4], 0)
    add("unbind_copy.int_out", x, 1), add("unbind_copy.int_out", i), add("stack.out", [x, y], 1), add("stack.out", [i, j, i], -1)
    add("cat.out", [x, y], 1), add("cat.out", [i, j, i], -1), add("cat.out", [i, x], 0)
    add("diagonal_copy.out", real(4, 5)), add("diagonal_copy.out", real(2, 4, 5), -1, 2, 1), add("unfold_copy.out", real(2, 9), 1, 4, 2)
    add("as_strided_copy.out", real(4, 5), [3, 2], [2, 7], 1), add("as_strided_copy.out", whole(12), [3, 4, 2], [2, 1, 1])
    add("flip.out", x, [0, -1]), add("roll.out", x, [1, -2], [0, 2]), add("roll.out", i, [5], [1]), add("tril.out", real(4, 5)), add("tril.out", whole(2, 3, 4), 1)
    add("tril.out", x, -1), add("pixel_shuffle.out", real(2, 8, 3, 2), 2), add("pixel_unshuffle.out", real(2, 2, 4, 6), 2)
    add("constant_pad_nd.out", x, [1, 2, 0, 1], 0.5), add("constant_pad_nd.out", i, [2, 1], 3), add("constant_pad_nd.out", x, [1, 1, 1, 1, 1, 1])
    for kind in "reflection replication".split():
        add(f"{kind}_pad1d.out", x, [2, 1]), add(f"{kind}_pad2d.out", image, [2, 1, 0, 3]), add(f"{kind}_pad1d.out", i, [1, 3])
        add(f"{kind}_pad3d.out", real(1, 2, 3, 4, 5), [2, 1, 0, 3, 1, 1])
    # Images and layers.
    add("upsample_nearest2d.vec_out", image, [7, 9], None), add("upsample_nearest2d.vec_out", image, None, [2.0, 1.5])
    for aligned in (False, True):
        add("upsample_bilinear2d.vec_out", image, [7, 9], aligned, None), add("upsample_bilinear2d.vec_out", image, None, aligned, [2.0, 1.7])
        add("_upsample_bilinear2d_aa.out", real(1, 2, 9, 8), [4, 5], aligned), add("_upsample_bilinear2d_aa.out", image, [8, 9], aligned)
        for mode in range(3):
            for padding in range(3):
                add("grid_sampler_2d.out", image, real(1, 4, 3, 2, low=-1.4, high=1.4), mode, padding, aligned)
    for p in (1.0, 2.0, 0.0, 3.0, float("inf")):
        add("_cdist_forward.out", real(2, 4, 3), real(2, 5, 3), p, None), add("_pdist_forward.out", real(5, 3), p)
    add("avg_pool2d.out", image, [2, 2], [2, 1]), add("_adaptive_avg_pool2d.out", image, [2, 3])
    add("avg_pool2d.out", image, [3, 3], [2, 2], [1, 1], True, False, None), add("avg_pool2d.out", image, [3, 2], [2, 2], [1, 1], False, True, 5)
    add("max_pool2d_with_indices.out", image, [2, 2], [2, 2]), add("max_pool2d_with_indices.out", image, [3, 3], [2, 2], [1, 1], [1, 1], True)
    add("max_pool2d_with_indices.out", whole(1, 3, 5, 6, low=-128, high=128, dtype=torch.int8), [3, 3], [2, 2], [1, 1], [1, 1], True)
    add("convolution.out", image, real(4, 2, 3, 3), real(4), [1, 2], [1, 0], [1, 1], False, [0, 0], 1)
    add("convolution.out", image, real(2, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 0], 1)
    add("convolution.out", real(1, 2, 9), real(4, 1, 3), real(4), [1], [1], [2], False, [0], 2)
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):  # sums wrap to the type; PyTorch's own are neither transposed nor dilated
        few = dict(low=0 if dtype == torch.uint8 else -100, high=100, dtype=dtype)
        for bias in (None, whole(4, **few), whole(4, low=-1000, high=1000, dtype=torch.int32)):
            add("convolution.out", whole(1, 2, 5, 6, **few), whole(4, 1, 3, 2, **few), bias, [1, 2], [1, 0], [1, 1], False, [0, 0], 2)
            add("convolution.out", whole(1, 2, 9, **few), whole(4, 1, 3, **few), bias, [2], [1], [1], False, [0], 2)
    add("mm.out", real(3, 4), real(4, 5)), add("bmm.out", real(2, 3, 4), real(2, 4, 5)), add("addmm.out", real(5), real(3, 4), real(4, 5))
    add("addmm.out", real(3, 5), real(3, 4), real(4, 5), beta=0.5, alpha=2)
    add("native_layer_norm.out", x, [4], real(4), real(4), 1e-5), add("native_layer_norm.out", x, [3, 4], None, None, 1e-5)
    add("native_group_norm.out", real(2, 4, 5), real(4), real(4), 2, 4, 5, 2, 1e-5)
    for name in ("_native_batch_norm_legit_no_training", "_native_batch_norm_legit"):
        more = (False,) if name.endswith("legit") else ()
        add(f"{name}.out", image, real(2), real(2), real(2), positive(2), *more, 0.1, 1e-5)
    add("_native_batch_norm_legit.no_stats_out", real(2, 3, 4, 5), real(3), real(3), True, 0.1, 1e-5, op="_native_batch_norm_legit.no_stats")
    return table


class Call(torch.nn.Module):
    """A call of an operator whose tensors are arguments and whose other arguments are constant."""

    def __init__(self, op, arguments, named):
        super().__init__()
        name, overload = op.split(".")
        self.op = getattr(getattr(torch.ops.aten, name), overload)
        leaves, self.structure = torch.utils._pytree.tree_flatten((arguments, named))
        self.is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        self.constants = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.tensors = tuple(leaf.clone() for leaf in leaves if isinstance(leaf, torch.Tensor))
        if name.endswith("_"):  # what it changes is a buffer
            self.register_buffer("changed", self.tensors[0].clone())
            self.tensors = self.tensors[1:]

    def forward(self, *tensors):
        rest = iter((self.changed, *tensors) if hasattr(self, "changed") else tensors)
        leaves = [next(rest) if is_tensor else leaf for leaf, is_tensor in zip(self.constants, self.is_tensor)]
        arguments, named = torch.utils._pytree.tree_unflatten(leaves, self.structure)
        results, _ = torch.utils._pytree.tree_flatten(self.op(*arguments, **named))
        return tuple(y.clone() if hasattr(self, "changed") else y for y in results)


def program_of(name, op, arguments, named):
    """(file, its operators, inputs)"""
    module = Call(op, arguments, named)
    inputs = module.tensors or (real(1),)  # a program needs an input, be it unused
    with torch.no_grad():
        exported = torch.export.export(module, inputs, strict=False)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(
        _check_ir_validity=False, preserve_ops=[module.op], _skip_dim_order=not name.startswith("dim_order_ops")))
    program = edge.to_executorch(ExecutorchBackendConfig(
        run_reinplace_pass=name == "index_put_", memory_planning_pass=MemoryPlanningPass(alloc_graph_input=True, alloc_graph_output=True)))
    operators = [f"{o.name}.{o.overload}".removesuffix(".").removeprefix("aten::")
                 for o in program.executorch_program.execution_plan[0].operators]
    return program.buffer, operators, inputs


def program_named(module, inputs):
    """The file of a whole module (tests/executorch has some), whose operators stay as it calls them."""
    exported = torch.export.export(module, inputs, strict=False)
    ops = {node.target for node in exported.graph.nodes if isinstance(node.target, torch._ops.OpOverload)}
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False, preserve_ops=list(ops),
                                                             _skip_dim_order=True))
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(
        alloc_graph_input=True, alloc_graph_output=True))).buffer


class Numbers(torch.nn.Module):
    """Tensors with numbers, in both arithmetics."""

    def forward(self, x):
        a = torch.ops.aten
        counts = a._to_copy.default(a.mul.Scalar(x, 10.0), dtype=torch.int64)
        counts = a.add.Tensor(a.bitwise_and.Scalar(counts, 7), a.full.default([4], 3, dtype=torch.int64), alpha=2)
        counts = a.sub.Tensor(counts, a.clamp.default(counts, 2, 9))
        chosen = a.masked_fill.Scalar(a.rsub.Scalar(x, 1.5, 2), a.gt.Scalar(x, 0.5), -3.0)
        chosen = a.add.Tensor(chosen, a.div.Tensor_mode(x, a.add.Scalar(a.abs.default(x), 0.25), rounding_mode="floor"))
        along = a.arange.start_step(0, 8, 2, dtype=torch.float32, layout=torch.strided, device="cpu", pin_memory=False)
        return a.add.Tensor(a.add.Tensor(chosen, a._to_copy.default(counts, dtype=torch.float32)), along)


class Convolutions(torch.nn.Module):
    """Convolutions in integers, whose sums wrap, and one in floats beside them."""

    def forward(self, x):
        a = torch.ops.aten

        def weight(dtype, *sizes, low=-100):
            count = math.prod(sizes)
            return (torch.arange(count) * 37 % 201 + low).reshape(sizes).to(dtype)

        def convolution(y, dtype, bias, sizes, transposed=False, groups=1, low=-100):
            y = a._to_copy.default(y, dtype=dtype)
            pair = [1] * (len(sizes) - 2)
            return a.convolution.default(y, weight(dtype, *sizes, low=low), bias, pair, pair, pair, transposed, [0 * i for i in pair], groups)

        y = convolution(a.mul.Scalar(x, 50.0), torch.int8, weight(torch.int8, 6), (6, 2, 3, 3), groups=2)
        y = convolution(y, torch.int16, weight(torch.int32, 4), (6, 4, 3, 2), transposed=True)
        y = convolution(y, torch.int32, weight(torch.float32, 3), (3, 4, 2, 3))
        y = convolution(y, torch.uint8, None, (3, 3, 3, 3), low=0)
        y = convolution(y.flatten(2), torch.int64, weight(torch.int64, 3), (3, 3, 4))
        return convolution(y, torch.float32, weight(torch.float32, 2), (2, 3, 2))


class Places(torch.nn.Module):
    """Elements from other places, and put to other places."""

    def forward(self, x):
        a = torch.ops.aten
        y = a.roll.default(a.tril.default(x, 1), [1, -2], [0, 1])
        y = a.index.Tensor(y, [torch.tensor([0, -1, 2]), torch.tensor([1, 3, 0])])
        z = a.index_put.default(x, [torch.tensor([1, 3])], a.stack.default([y, a.flip.default(y, [0])], 0)[:, :1], True)
        z = a.slice_scatter.default(z, a.reflection_pad1d.default(x[:1, :], [1, 1])[:, :4], 0, 2, 3)
        z = a.select_scatter.default(z, a.diagonal_copy.default(x), 1, -1)
        values, indices = a.topk.default(x, 4)  # no two are equal: the order of ties is unspecified
        e = a.embedding.default(z, torch.tensor([[0, 3], [2, 2]]))
        windows = a.sum.dim_IntList(a.unfold_copy.default(e, 2, 2, 1), [3])
        first, rest = a.unbind_copy.int(a.constant_pad_nd.default(windows, [0, 1], 0.5))
        tail = a.constant_pad_nd.default(a.transpose_copy.int(indices, 0, 1)[:2, :2], [1, 1], 5)
        y = a.add.Tensor(a.add.Tensor(first, rest), a._to_copy.default(tail, dtype=torch.float32))
        return a.add.Tensor(y, a.as_strided_copy.default(values, [2, 4], [8, 1], 4))


class Images(torch.nn.Module):
    """Images of other sizes, and what is left of them."""

    def forward(self, x):
        a = torch.ops.aten
        y = a.upsample_bilinear2d.vec(x, None, False, [1.5, 2.0])
        y = a.add.Tensor(y, a.upsample_nearest2d.vec(x, [6, 8], None))
        y = a.pixel_shuffle.default(y, 2)
        y = a.replication_pad2d.default(y, [1, 2, 0, 1])
        y = a.glu.default(a.narrow_copy.default(y, 3, 1, 16))
        variance, mean = a.var_mean.correction(y, [2], correction=1, keepdim=True)
        largest, where = a.max.dim(y, 2, True)
        y = a.add.Tensor(a.add.Tensor(variance, mean), a.mul.Tensor(largest, a._to_copy.default(where, dtype=torch.float32)))
        return a.add.Tensor(y, a._to_copy.default(a.any.dim(a.lt.Scalar(y, 0.2), 3, True), dtype=torch.float32))


class ChannelsLast(torch.nn.Module):
    """Windows and indices where channels are side by side in memory."""

    def __init__(self):
        super().__init__()
        self.register_buffer("order", torch.tensor([2, 0, 1]))
        self.register_buffer("rows", torch.tensor([[1], [3]]))

    def forward(self, x):
        y, where = torch.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)
        y = y + where.to(torch.float32) * 0.125
        return y[:, :, self.rows, self.order][:, self.order[:2]]


class Random(torch.nn.Module):
    """What does not run here."""

    def forward(self, x):
        return x + torch.rand(3, 4) * torch.randn(3, 4)


class Buffers(torch.nn.Module):
    """Mutable buffers: a counter, a running mean that does not begin with zero, and a delay line."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1, 1, dtype=torch.int64))
        self.register_buffer("mean", torch.full((1, 4), 3.0))
        self.register_buffer("line", torch.zeros(1, 4, 3))

    def forward(self, x):
        self.count.add_(1)
        self.mean.mul_(0.5).add_(0.5 * x)
        self.line.copy_(torch.cat([self.line[:, :, 1:], x.unsqueeze(2)], 2))
        return torch.cat([x - self.mean, self.count.float(), self.line.sum(2)], 1)


def make_programs_with_buffers(folder):
    """ExecuTorch does not write initial contents unless told to; what it leaves out begins as its arena does, with zeros."""
    x = torch.linspace(-2, 3, 20).reshape(5, 1, 4)
    np.save(f"{folder}/buffers.in.npy", x.numpy())
    for name, patterns in (("buffers", []), ("buffers_initialized", ["mean", "count"])):
        program = to_edge(torch.export.export(Buffers().eval(), (x[0],)), compile_config=EdgeCompileConfig(_check_ir_validity=False))
        data = program.to_executorch(ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=True, alloc_graph_output=True),
            passes=[InitializedMutableBufferPass(patterns)])).buffer
        pathlib.Path(f"{folder}/{name}.pte").write_bytes(data)
        method = Runtime.get().load_program(data).load_method("forward")
        np.save(f"{folder}/{name}.out.npy", np.stack([method.execute([step])[0].numpy() for step in x]))


def make_test_programs(folder):
    make_programs_with_buffers(folder)
    (pathlib.Path(folder) / "unknown_operators.pte").write_bytes(program_named(Random(), (real(3, 4),)))
    for name, module, x in (("numbers", Numbers(), real(3, 4)), ("places", Places(), real(4, 4)), ("images", Images(), real(1, 4, 4, 4)), ("convolutions", Convolutions(), real(1, 4, 5, 6))):
        data = program_named(module, (x,))
        stem = pathlib.Path(folder) / f"portable_{name}"
        np.save(f"{stem}.in.npy", x.numpy())
        np.save(f"{stem}.out.npy", upstream.execute(data, (x,))[0].contiguous().numpy())
        pathlib.Path(f"{stem}.pte").write_bytes(data)
    # Its runtime refuses indices in this memory order, so the answer is PyTorch's.
    x, stem = upstream.channels_last(real(2, 3, 7, 8)), pathlib.Path(folder) / "float_places_channels_last"
    pathlib.Path(f"{stem}.pte").write_bytes(upstream.portable(torch.export.export(ChannelsLast(), (x,))))
    np.save(f"{stem}.in.npy", x.contiguous().numpy())
    np.save(f"{stem}.out.npy", ChannelsLast()(x).contiguous().numpy())


def apart(actual, expected):
    """None if they are equal as far as they have to be, else how they differ."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{actual.shape} instead of {expected.dtype}{expected.shape}"
    if expected.dtype.kind != "f":
        different = np.count_nonzero(actual != expected)
        return f"{different} of {expected.size} {expected.dtype} differ" if different else None
    if not np.array_equal(np.isnan(actual), np.isnan(expected)):
        return "NaNs differ"
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite & ~np.isnan(expected)], expected[~finite & ~np.isnan(expected)]):
        return "infinities differ"
    size = max(float(np.abs(expected[finite]).max(initial=0)), 1e-30)
    worst = float(np.abs(actual[finite] - expected[finite]).max(initial=0)) / size
    return f"apart by {worst:.2g} of the range" if not worst <= TOLERANCE else None


def make_files(stem, name, case):
    """Writes the program, its inputs and what ExecuTorch's runtime answers, once; says why where there is none."""
    if pathlib.Path(f"{stem}.pte").exists():
        return ""
    try:
        data, operators, inputs = program_of(name, *case)
        if name not in operators:
            return f"its compiler makes {', '.join(operators) or 'nothing'} of it"
        expected = upstream.execute_apart(data, inputs)
    except Exception as error:  # what its compiler cannot make is not ours to run
        return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
    if expected is None:
        return "its runtime does not execute it"
    for k, x in enumerate(inputs):
        np.save(f"{stem}.in{k}.npy", x.numpy())
    with torch.no_grad():
        meant = upstream.as_tuple(Call(*case)(*(x.clone() for x in inputs)))
    for k, y in enumerate(expected):
        meant_here = meant[k].contiguous().numpy()
        is_meant = y.shape == meant_here.shape and "empty" not in name  # else its compiler has another program made of it
        np.save(f"{stem}.expected{k}.npy", meant_here if is_meant and apart(y, meant_here) else y)
    pathlib.Path(f"{stem}.pte").write_bytes(data)
    return ""


def check(program, folder, name, number, case, board):
    """(outcome, remark)"""
    stem = folder / f"{name.replace('::', '.')}.{number}"
    if remark := make_files(stem, name, case):
        return "no file", remark
    inputs, expected = (sorted(folder.glob(f"{stem.name}.{kind}*.npy")) for kind in ("in", "expected"))
    arguments = ["run", f"{stem}.pte"] + [argument for path in inputs for argument in ("--input", path)]
    answers = {}
    for target in ["host"] + ([board] if board else []):
        paths = [f"{stem}.{target}{k}.npy" for k in range(len(expected))]
        outputs = [argument for path in paths for argument in ("--output", path)]
        done = subprocess.run([program, *arguments, f"--target={target}", *outputs], capture_output=True, text=True)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            return "refused", f"{target}: {next((line for line in lines if 'error' in line), lines[:1])}"
        answers[target] = [np.load(path) for path in paths]
    if "empty" in name:  # whose answer is anything
        return "right", ""
    for k, (actual, path) in enumerate(zip(answers["host"], expected)):
        if remark := apart(actual, np.load(path)):
            return "wrong", f"output {k}: {remark}"
    if board and any(a.tobytes() != b.tobytes() for a, b in zip(answers["host"], answers[board])):
        return "wrong", f"{board} and the host differ"
    return "right", ""


def check_ours(program, folder, name, number, case):
    """(outcome, remark) of the module compiled here for ExecuTorch's runtime."""
    stem = folder / f"{name.replace('::', '.')}.{number}.ours"
    module = Call(*case)
    inputs = module.tensors or (real(1),)
    with torch.no_grad():
        try:
            exported = torch.export.export(module, inputs, strict=False)
        except Exception as error:
            return "no file", f"torch.export: {' '.join(str(error).split())[:100]}"
        torch.export.save(exported, f"{stem}.pt2")
        expected = upstream.as_tuple(Call(*case)(*(x.clone() for x in inputs)))
    done = subprocess.run([program, "compile", f"{stem}.pt2", "--runtime=executorch", "--no-link", "-o", f"{stem}.pte"],
                          capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        remark = next((line for line in lines if "error" in line), str(lines[:1]))
        return ("wrong" if done.returncode == 3 else "refused"), remark
    data = pathlib.Path(f"{stem}.pte").read_bytes()
    if b"cormorant::" in data:
        return "wrong", "an operator of ours"
    answers = upstream.execute_apart(data, inputs)
    if answers is None:
        return "wrong", "its runtime does not execute it"
    if "empty" in name:
        return "right", ""
    for k, (actual, wanted) in enumerate(zip(answers, expected)):
        if remark := apart(np.asarray(actual), wanted.contiguous().numpy()):
            return "wrong", f"output {k}: {remark}"
    return "right", ""


def portable_names():
    import executorch
    path = pathlib.Path(list(executorch.__path__)[0]) / "kernels/portable/functions.yaml"
    heads = [line.split("(")[0].split(":", 1)[1].strip() for line in path.read_text().splitlines()
             if line.startswith(("- op:", "- func:"))]
    return [head for head in heads]


def check_our_states(program, folder):
    """Models with state (zoo/state), compiled here in float, along a sequence in ExecuTorch's runtime: how many are wrong."""
    wrong = 0
    for path in sorted((pathlib.Path(__file__).parents[2] / "zoo/state").glob("*_expected.npz")):
        name = path.name.removesuffix("_expected.npz")
        made = folder / f"state_{name}.pte"
        compiled = subprocess.run([program, "compile", path.with_name(f"{name}.pt2"), "--runtime=executorch", "--no-link", "-o", made],
                                  capture_output=True, text=True)
        if compiled.returncode:
            print(f"{name:<36} refused {' '.join(compiled.stderr.split())[:150]}")
            wrong += compiled.returncode != 1
            continue
        data, file = np.load(path), made.read_bytes()  # its runtime does not copy the file
        method = Runtime.get().load_program(file).load_method("forward")
        given = np.stack([method.execute([torch.from_numpy(x.copy())])[0].numpy() for x in data["x"][0]])
        if difference := apart(given, data["y"][0].reshape(given.shape)):
            print(f"{name:<36} wrong   {difference}")
            wrong += 1
    return wrong


def main(given):
    warnings.simplefilter("ignore")
    folder = pathlib.Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    table, names = cases(), portable_names()
    if unknown := set(table) - set(names):
        sys.exit(f"error: cases of names that its list does not have: {', '.join(sorted(unknown))}")
    if forgotten := [name for name in names if name not in table and name not in LEFT_OUT]:
        sys.exit(f"error: names without a case: {', '.join(forgotten)}")
    counts, holds, no_file = collections.Counter(), [], []
    for name in given.names or names:
        outcomes = []
        for number, case in enumerate(table.get(name, [])):
            outcome, remark = (check_ours(given.program, folder, name, number, case) if given.ours else
                               check(given.program, folder, name, number, case, given.board))
            outcomes.append(outcome)
            if outcome != "right":
                print(f"{name:<36} {case[0]:<26} {number} {outcome:<8} {remark[:220]}", flush=True)
        counts.update(outcomes)
        made = [outcome for outcome in outcomes if outcome != "no file"]
        if made and all(outcome == "right" for outcome in made):
            holds.append(name)
        elif outcomes and not made:
            no_file.append(name)
    print(", ".join(f"{count} files {outcome}" for outcome, count in sorted(counts.items())))
    print(f"{len(holds)} of {len(given.names or names)} names hold; left out: "
          + ", ".join(f"{name} ({reason})" for name, reason in LEFT_OUT.items())
          + f"; its compiler makes no file with {', '.join(no_file) or 'none'}")
    if given.ours and not given.names:
        counts["wrong"] += check_our_states(given.program, folder)
    return 1 if counts["wrong"] + (0 if given.ours else counts["refused"]) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--test-programs"]:
        torch.manual_seed(3)
        sys.exit(make_test_programs(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--board")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("names", nargs="*")
    sys.exit(main(parser.parse_intermixed_args()))
