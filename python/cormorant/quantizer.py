# SPDX-License-Identifier: Apache-2.0
"""A quantizer for PyTorch's PT2E flow that annotates exactly what our kernels compute in integers, with their parameters.

    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e
    from cormorant.quantizer import CortexMQuantizer

    graph = torch.export.export(model.train(), (example,)).module()
    prepared = prepare_qat_pt2e(graph, CortexMQuantizer(is_qat=True))
    …                                                      # train
    torchao.quantization.pt2e.move_exported_model_to_eval(prepared)
    program = cormorant.compile(torch.export.export(convert_pt2e(prepared), (example,)))

What training sees is what the board computes: int8 weights per channel without -128, int8 activations per tensor,
layers that only move or select values without a rounding of their own, an activation inside the layer before it. What
is not annotated stays in float, there as here. With scheme="8w16a" activations have 16 bits, with "4w8a" weights have
4. Needs torch and torchao.
"""
from __future__ import annotations

from typing import Callable, Dict, Iterator, List, Optional, Tuple

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    FakeQuantize, FusedMovingAvgObsFakeQuantize, HistogramObserver, MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver, PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec, QuantizationAnnotation, QuantizationSpec, QuantizationSpecBase, Quantizer,
    SharedQuantizationSpec,
)

__all__ = ["CortexMQuantizer"]

# By PyTorch's names, as `cormorant operators` groups them.
_WEIGHTED = {"conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "linear"}
_NORMS = {"batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training"}
_ACTIVATIONS = {"relu", "relu6", "hardtanh", "clamp", "clamp_min", "clamp_max", "clip"}  # computed by the layer before them
_OBSERVED = {
    "add", "sub", "mul", "div", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "mean",
    "matmul", "bmm", "layer_norm", "group_norm", "elu", "exp", "gelu", "hardsigmoid", "hardswish", "leaky_relu", "log",
    "mish", "neg", "pow", "prelu", "reciprocal", "rsqrt", "sigmoid", "silu", "softplus", "sqrt", "tanh", "abs",
}
_OBSERVED |= {"rsub", "subtract", "multiply", "divide", "true_divide", "sum", "mm", "rms_norm"}
# Functions of one number, which are tables of integers.
_OBSERVED |= {
    "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan",
    "atanh", "ceil", "celu", "cos", "cosh", "erf", "erfc", "exp2", "expm1", "fix", "floor", "frac", "hardshrink", "log10",
    "log1p", "log2", "log_sigmoid", "logit", "negative", "round", "selu", "sgn", "sign", "sin", "sinc", "sinh",
    "softshrink", "special_erf", "special_erfc", "special_exp2", "special_expit", "special_expm1", "special_log1p",
    "special_logit", "special_round", "special_sinc", "square", "tan", "threshold", "trunc",
}
# In 8 bits only, by tables: a pole, a jump or an infinite slope is nothing to interpolate; the smallest is found by a
# table, too.
_BYTES_ONLY = {
    "acos", "acosh", "amin", "arccos", "arccosh", "arcsin", "arctanh", "asin", "atanh", "ceil", "cosh", "fix", "floor",
    "frac", "hardshrink", "log", "log10", "log1p", "log2", "logit", "pow", "reciprocal", "round", "rsqrt", "sgn", "sign",
    "sinc", "sinh", "special_log1p", "special_logit", "special_round", "special_sinc", "sqrt", "tan", "threshold", "trunc",
}
_SHARED = {
    "max_pool1d", "max_pool2d", "amax", "amin", "maximum", "minimum", "cat", "concat", "stack", "pad",
    "constant_pad_nd", "slice", "select", "narrow", "permute", "transpose", "t", "movedim", "view", "reshape", "flatten",
    "unflatten", "squeeze", "unsqueeze", "expand", "repeat", "flip", "roll", "upsample_nearest2d", "pixel_shuffle",
    "pixel_unshuffle", "channel_shuffle", "contiguous", "clone", "dropout", "relu", "relu6", "hardtanh", "clamp",
    "clamp_min",
}
_SHARED |= {
    "clamp_max", "clip", "concatenate", "hstack", "vstack", "column_stack", "broadcast_to", "tile", "upsample_nearest1d",
    "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "repeat_interleave", "swapaxes", "swapdims", "moveaxis",
    "ravel",
}
# Their results are taken by getitem; of a pooling that is the values, indices are no numbers to round.
_SPLITS = {"chunk", "split", "split_with_sizes", "unbind", "adaptive_max_pool1d", "adaptive_max_pool2d"}
_SOFTMAX = {"softmax", "_softmax"}


def _name(node: Node) -> str:
    """"conv2d" of torch.ops.aten.conv2d.default; in-place variants like the others."""
    name = getattr(getattr(node.target, "_schema", None), "name", "") if node.op == "call_function" else ""
    name = name.split("::")[-1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _is_float(node: object) -> bool:
    if not isinstance(node, Node):
        return False
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _tensors(node: Node) -> Iterator[Node]:
    """Float operands, including those in lists."""
    for argument in node.args:
        for value in argument if isinstance(argument, (list, tuple)) else [argument]:
            if _is_float(value):
                yield value  # type: ignore[misc]


class CortexMQuantizer(Quantizer):
    """Integers for everything that the compiler computes in integers.

    is_qat         with fake quantization, for prepare_qat_pt2e
    keep_float     called with each node, true for those that shall stay in float
    scheme         "8w8a", "8w16a" or "4w8a": bits of weights and activations, as compile's --scheme
    wide_weights   with 4w8a, called with each layer, true for those whose weights keep 8 bits
    """

    def __init__(self, is_qat: bool = False, keep_float: Optional[Callable[[Node], bool]] = None, scheme: str = "8w8a",
                 wide_weights: Optional[Callable[[Node], bool]] = None) -> None:
        super().__init__()
        if scheme not in ("8w8a", "8w16a", "4w8a"):
            raise ValueError(f"scheme is {scheme!r}: it must be '8w8a', '8w16a' or '4w8a'")
        self._keep_float = keep_float or (lambda node: False)
        self._wide_weights = wide_weights or (lambda node: False)
        self._scheme = scheme
        activations = dict(dtype=torch.int8, quant_min=-128, quant_max=127, qscheme=torch.per_tensor_affine)
        epsilon = {"eps": 2**-12}
        if scheme == "8w16a":
            activations = dict(dtype=torch.int16, quant_min=-32768, quant_max=32767, qscheme=torch.per_tensor_symmetric)
            epsilon = {"eps": 2**-20}
        if is_qat:
            activation_observer = FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, **epsilon)
            # The fused form knows axis 0 only, and torchao hands the axis on only to what is called PerChannel.
            weight_observers = {
                axis: form.with_args(observer=MovingAveragePerChannelMinMaxObserver, ch_axis=axis, **epsilon)
                for axis, form in ((0, FusedMovingAvgObsFakeQuantize), (1, FakeQuantize))
            }
        else:
            activation_observer = HistogramObserver.with_args(**epsilon)
            weight_observers = dict.fromkeys((0, 1), PerChannelMinMaxObserver.with_args(**epsilon))
        self._activation = QuantizationSpec(observer_or_fake_quant_ctr=activation_observer, **activations)  # type: ignore[arg-type]
        self._weights = {
            (axis, bits): QuantizationSpec(
                dtype=torch.int8, quant_min=1 - 2 ** (bits - 1), quant_max=2 ** (bits - 1) - 1,
                qscheme=torch.per_channel_symmetric, ch_axis=axis,
                observer_or_fake_quant_ctr=observer)  # type: ignore[arg-type]
            for axis, observer in weight_observers.items() for bits in (4, 8)
        }

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """A mean or sum without keepdim is one with it and a squeeze, as here: each of the two tensors has parameters."""
        for node in list(model.graph.nodes):
            if _name(node) not in ("mean", "sum") or self._keep_float(node) or not all(map(_is_float, (node, node.args[0]))):
                continue
            if set(node.kwargs) - {"keepdim"} or len(node.args) > 3:
                continue  # with a type of its own
            arguments = dict(zip(("self", "dim", "keepdim"), node.args), **node.kwargs)
            if not arguments.get("dim") or arguments.get("keepdim"):
                continue
            value, source = node.meta["val"], node.args[0].meta["val"]
            dims = sorted(dim % source.dim() for dim in arguments["dim"])
            with model.graph.inserting_after(node):
                squeeze = model.graph.call_function(torch.ops.aten.squeeze.dims, (node, dims))
            node.replace_all_uses_with(squeeze, delete_user_cb=lambda user: user is not squeeze)
            squeeze.meta = dict(node.meta)
            node.args, node.kwargs = (node.args[0], dims, True), {}
            for dim in dims:
                value = value.unsqueeze(dim)
            node.meta["val"] = value
        model.recompile()
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        for node in model.graph.nodes:
            if "quantization_annotation" in node.meta or self._keep_float(node):
                continue
            name = _name(node)
            if self._scheme == "8w16a" and name in _BYTES_ONLY:
                continue
            if name in _WEIGHTED:
                self._annotate_weighted(node, name)
            elif name in _SOFTMAX:
                self._annotate(node, self._of_softmax())
            elif name in _ACTIVATIONS and self._ends_layer(node):
                continue
            elif name in _SHARED:
                self._annotate_shared(node)
            elif name in _SPLITS:
                self._annotate_split(node)
            elif name in ("mean", "sum") and not (len(node.args) > 2 and node.args[2]):
                continue  # of everything
            elif name in _OBSERVED and _is_float(node):
                self._annotate(node, self._activation)
        return model

    def validate(self, model: GraphModule) -> None:
        pass

    # ---- one layer ---------------------------------------------------------------------------------------------------

    def _annotate_weighted(self, node: Node, name: str) -> None:
        source, weight = node.args[0], node.args[1]
        if not (isinstance(source, Node) and isinstance(weight, Node) and weight.op in ("get_attr", "placeholder")):
            return  # weights that the model computes stay in float
        is_transposed = name.startswith("conv_transpose")
        if is_transposed and len(node.args) > 6 and node.args[6] != 1:
            return
        operands: Dict[Node, Optional[QuantizationSpecBase]] = {
            source: self._input_spec(source), weight: self._weights[1 if is_transposed else 0, self._weight_bits(node)]
        }
        last = self._last_of_layer(node)
        node.meta["quantization_annotation"] = QuantizationAnnotation(
            input_qspec_map=operands, output_qspec=self._activation if last is node else None, _annotated=True)
        step = node
        while step is not last:
            step = next(iter(step.users))
            step.meta["quantization_annotation"] = QuantizationAnnotation(
                output_qspec=self._activation if step is last else None, _annotated=True)

    def _last_of_layer(self, node: Node) -> Node:
        """Batch norm and an activation are computed by the layer before them."""
        last, allowed = node, _NORMS | _ACTIVATIONS
        while True:
            users: List[Node] = list(last.users)
            if len(users) != 1 or _name(users[0]) not in allowed or self._keep_float(users[0]):
                return last
            allowed = _ACTIVATIONS if _name(users[0]) in _NORMS else set()
            last = users[0]

    def _ends_layer(self, node: Node) -> bool:
        return "quantization_annotation" in node.meta

    def _annotate(self, node: Node, output: QuantizationSpecBase) -> None:
        operands: Dict[Node, Optional[QuantizationSpecBase]] = {}
        for source in _tensors(node):
            if source.op == "get_attr" and _name(node) in ("layer_norm", "group_norm", "rms_norm", "prelu"):
                continue  # the compiler's own business
            operands[source] = self._input_spec(source)
        if not operands:
            return
        last = self._activation_after(node)
        node.meta["quantization_annotation"] = QuantizationAnnotation(
            input_qspec_map=operands, output_qspec=output if last is node else None, _annotated=True)
        if last is not node:
            last.meta["quantization_annotation"] = QuantizationAnnotation(output_qspec=output, _annotated=True)

    def _activation_after(self, node: Node) -> Node:
        """Additions clamp their result themselves."""
        users = list(node.users)
        is_fused = _name(node) in ("add", "sub") and len(users) == 1 and _name(users[0]) in _ACTIVATIONS
        return users[0] if is_fused and not self._keep_float(users[0]) else node

    def _annotate_shared(self, node: Node) -> None:
        sources = list(dict.fromkeys(_tensors(node)))
        if not sources or not _is_float(node) or not self._is_quantized(sources[0]):
            return
        shared = SharedQuantizationSpec((sources[0], node))
        operands: Dict[Node, Optional[QuantizationSpecBase]] = {sources[0]: self._input_spec(sources[0])}
        for source in sources[1:]:
            operands[source] = shared
        node.meta["quantization_annotation"] = QuantizationAnnotation(
            input_qspec_map=operands, output_qspec=shared, _annotated=True)

    def _annotate_split(self, node: Node) -> None:
        source = node.args[0]
        if not isinstance(source, Node) or not self._is_quantized(source):
            return
        shared = SharedQuantizationSpec((source, node))
        node.meta["quantization_annotation"] = QuantizationAnnotation(
            input_qspec_map={source: self._input_spec(source)}, output_qspec=None, _annotated=True)
        for part in filter(_is_float, node.users):
            part.meta["quantization_annotation"] = QuantizationAnnotation(output_qspec=shared, _annotated=True)

    # ---- parameters --------------------------------------------------------------------------------------------------

    def _input_spec(self, source: Node) -> QuantizationSpecBase:
        """The producer's parameters, so that no tensor is rounded twice."""
        annotation = source.meta.get("quantization_annotation")
        output = annotation.output_qspec if annotation is not None else None
        return output if isinstance(output, FixedQParamsQuantizationSpec) else self._activation

    def _is_quantized(self, source: Node) -> bool:
        """Values that come from integers, or from outside: merely moving floats is no reason to round them."""
        annotation = source.meta.get("quantization_annotation")
        return source.op == "placeholder" or (annotation is not None and annotation.output_qspec is not None)

    def _weight_bits(self, node: Node) -> int:
        """Convolutions with groups have kernels for 4 bits only if they are depthwise."""
        if self._scheme != "4w8a" or self._wide_weights(node):
            return 8
        groups = node.args[6] if len(node.args) > 6 and "transpose" not in _name(node) else 1
        inputs = node.args[0].meta["val"].shape[1] if groups != 1 else 1  # type: ignore[union-attr]
        return 4 if groups in (1, inputs) else 8

    def _of_softmax(self) -> FixedQParamsQuantizationSpec:
        if self._scheme == "8w16a":
            return FixedQParamsQuantizationSpec(
                dtype=torch.int16, scale=1 / 32768, zero_point=0, quant_min=-32768, quant_max=32767,
                qscheme=torch.per_tensor_symmetric)
        return FixedQParamsQuantizationSpec(
            dtype=torch.int8, scale=1 / 256, zero_point=-128, quant_min=-128, quant_max=127,
            qscheme=torch.per_tensor_affine)
