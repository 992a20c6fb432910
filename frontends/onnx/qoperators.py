"""Quantized operators as the groups that they stand for: dequantize, a float operator, quantize.

ONNX Runtime gives the same integers for both. A table has a rule for each operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.attentions import any_attention, multi_head_attention, quantized_attention
from frontends.onnx.block_weights import gather_block_quantized, matmul_bnb4, matmul_n_bits
from frontends.onnx.group_queries import group_query_attention
from frontends.onnx.normalizations import (
    bias_gelu,
    embed_layer_normalization,
    fast_gelu,
    gelu,
    quantized_embed_layer_normalization,
    quick_gelu,
    simplified_layer_normalization,
    skip_layer_normalization,
    skip_simplified_layer_normalization,
)
from frontends.onnx.package import onnx_package
from frontends.onnx.products import (
    dynamic_quantize_lstm,
    dynamic_quantize_matmul,
    fused_conv,
    fused_gemm,
    fused_matmul,
    matmul_integer_to_float,
)
from frontends.onnx.rotations import rotary_embedding

Array = np.ndarray[Any, Any]

_ROW = 3
"""The axes of a row of pixels, with its batch and channels."""

_INT8 = 3
"""int8 among the numbers of element types."""

_OF_AXES_AS_OPERAND = 13
"""The operator sets in which Unsqueeze takes its axes as an operand."""

_OF_SAME_RANK = {
    *("Add", "AveragePool", "Cast", "Concat", "Conv", "DequantizeLinear", "GlobalAveragePool"),
    *("DynamicQuantizeLinear", "LayerNormalization", "LeakyRelu", "MatMul", "MatMulInteger"),
    *("MaxPool", "Mul", "QuantizeLinear", "RMSNormalization", "Sigmoid", "Softmax"),
}
"""Operators whose result has as many axes as their first operand."""


@dataclass
class Groups:
    """What becomes of a model's nodes.

    Attributes:
        constants: the model's, by name.
        prefix: of names that no tensor has.
        opset: the version of the standard's operators.
        ranks: of tensors, as far as they are known.
        shapes: of tensors, likewise, where all sizes are.
        kinds: numbers of the element types of tensors, likewise.
        nodes: those of the new model so far.
        added: constants of the new model that the old one has not.
        sources: for each node of the new model, the number of the old one's that it is of.
    """

    constants: Mapping[str, Array]
    prefix: str
    opset: int
    ranks: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)
    added: dict[str, Array] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)

    def constant(self, array: Array) -> str:
        """Add a constant and return its name."""
        name = f"{self.prefix}constant_{len(self.added)}"
        self.added[name] = array
        return name

    def value(self, name: str) -> Array:
        """Return a constant.

        Raises:
            UnsupportedError: it is none.
        """
        if name not in self.constants:
            raise UnsupportedError(f"{name!r} must be a constant")
        return self.constants[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor of the old model.

        Raises:
            UnsupportedError: it is not known.
        """
        if name in self.constants:
            return tuple(self.constants[name].shape)
        if name not in self.shapes:
            raise UnsupportedError(f"the shape of {name!r} must be known")
        return self.shapes[name]

    def number(self, value: Any, dtype: Any = np.float32) -> str:
        """Add a constant of one number, or several, and return its name."""
        return self.constant(np.array(value, dtype))

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node and return its output."""
        self.nodes.append(onnx_package().helper.make_node(op, inputs, [output], **attributes))
        return output

    def unsqueezed(self, data: str, axis: int, output: str) -> str:
        """Add an Unsqueeze and return its output."""
        if self.opset < _OF_AXES_AS_OPERAND:
            return self.node("Unsqueeze", [data], output, axes=[axis])
        return self.node("Unsqueeze", [data, self.constant(np.array([axis]))], output)

    def dequantized(self, data: str, scale: str, zero_point: str = "", axis: int = 0) -> str:
        """Add a DequantizeLinear.

        Raises:
            UnsupportedError: scale or zero point is no constant.
        """
        inputs = [data, scale, *([zero_point] if zero_point else [])]
        for name in inputs[1:]:
            self.value(name)
        output = f"{self.prefix}{data}_{len(self.nodes)}"
        return self.node("DequantizeLinear", inputs, output, **self._axis(scale, axis))

    def quantized(
        self, op: str, inputs: list[str], node: Any, into: list[str], **attrs: Any
    ) -> None:
        """Add a float operator and the QuantizeLinear of its result.

        Raises:
            UnsupportedError: the result's scale or zero point is no constant.
        """
        for name in filter(None, into):
            self.value(name)
        real = self.node(op, inputs, f"{self.prefix}{node.output[0]}", **attrs)
        self.node("QuantizeLinear", [real, *(name for name in into if name)], node.output[0])

    def bias(self, bias: str, scales: tuple[str, str]) -> str:
        """Add the DequantizeLinear of a bias in steps of the product of scales.

        Raises:
            UnsupportedError: it is no constant, or its last axis is not that of the scales.
        """
        product = self.value(scales[0]).astype(np.float32) * self.value(scales[1])
        steps = np.asarray(product.reshape(()) if product.size == 1 else product.reshape(-1))
        array = self.value(bias)
        if steps.size > 1 and array.shape[-1:] != steps.shape:  # the same for all
            try:
                array = np.broadcast_to(array, (*array.shape[:-1], steps.size))
            except ValueError:
                raise UnsupportedError(
                    f"a bias of shape {list(array.shape)} for {steps.size} scales"
                ) from None
            bias = self._known(np.ascontiguousarray(array))
        return self.dequantized(bias, self._known(steps), axis=max(array.ndim - 1, 0))

    def rank(self, name: str) -> int:
        """Return the rank of a tensor, as what makes it tells; 0 where nothing does."""
        made = {output: node for node in self.nodes for output in node.output}
        while name not in self.ranks and name in made:
            node = made.pop(name)
            if node.op_type == "Transpose":
                return len(node.attribute[0].ints) if node.attribute else 0
            if node.op_type == "Reshape":
                shape = {**self.constants, **self.added}.get(node.input[1])
                return 0 if shape is None else int(shape.size)
            if node.op_type not in _OF_SAME_RANK:
                return 0
            name = node.input[0]
        if name in self.constants:
            return int(self.constants[name].ndim)
        return self.ranks.get(name, 0)

    def zero_of(self, data: str) -> str:
        """Return a zero point of the dtype of bytes, which a result has where none is stated."""
        known = self.constants.get(data)
        kind = self.kinds.get(data) if known is None else None
        is_signed = kind == _INT8 or (known is not None and known.dtype == np.int8)
        return self._known(np.zeros((), np.int8)) if is_signed else ""

    def scaled(self, scale: str, factor: float) -> str:
        """Return the name of a scale times a factor."""
        if factor == 1:
            return scale
        return self._known(np.asarray(self.value(scale) * np.float32(factor), np.float32))

    def _known(self, array: Array) -> str:
        """Add a constant that rules may read, and return its name."""
        name = self.constant(array)
        self.constants = {**self.constants, name: array}
        return name

    def _axis(self, scale: str, axis: int) -> dict[str, int]:
        return {"axis": axis} if self.value(scale).size > 1 else {}


Rule = Callable[[Groups, Any, list[str], dict[str, Any]], None]
"""``rule(groups, node, inputs, attributes)`` adds what a node stands for."""

RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def decorate(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return decorate


@_rule("QLinearConv")
def _conv(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    x, sx, zx, w, sw, zw, sy, zy, bias = (*inputs, "")[:9]
    operands = [groups.dequantized(x, sx, zx), groups.dequantized(w, sw, zw)]
    if bias:
        operands.append(groups.bias(bias, (sx, sw)))
    groups.quantized("Conv", operands, node, [sy, zy], **attrs)


@_rule("QLinearMatMul")
def _matmul(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    a, sa, za, b, sb, zb, sy, zy = inputs
    operands = [groups.dequantized(a, sa, za), groups.dequantized(b, sb, zb, axis=1)]
    groups.quantized("MatMul", operands, node, [sy, zy], **attrs)


@_rule("QGemm")
def _gemm(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    a, sa, za, b, sb, zb, bias, sy, zy = (*inputs, "", "", "")[:9]
    if not sy or (bias and bias not in groups.constants):
        _gemm_of_sums(groups, node, inputs, attrs)
        return
    unit_axis = 0 if attrs.get("transB", 0) else 1
    sa = groups.scaled(sa, attrs.pop("alpha", 1.0))
    operands = [groups.dequantized(a, sa, za), groups.dequantized(b, sb, zb, axis=unit_axis)]
    if bias:
        operands.append(groups.bias(bias, (sa, sb)))
    groups.quantized("Gemm", operands, node, [sy, zy], **attrs)


def _gemm_of_sums(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Add the int32 sums, the bias, and the product with the scales; quantize it if asked."""
    a, sa, za, b, sb, zb, bias, sy, zy = (*inputs, "", "", "")[:9]
    name, to = f"{groups.prefix}{node.output[0]}", onnx_package().TensorProto.FLOAT
    if attrs.get("transA", 0):
        a = groups.node("Transpose", [a], f"{name}_rows", perm=[1, 0])
    if attrs.get("transB", 0):
        b = (
            groups.constant(np.ascontiguousarray(groups.value(b).T))
            if b in groups.constants
            else groups.node("Transpose", [b], f"{name}_columns", perm=[1, 0])
        )
    sums = groups.node("MatMulInteger", [a, b, za, zb], f"{name}_products")
    if bias:
        sums = groups.node("Add", [sums, bias], f"{name}_sums")
    scale = np.float32(np.float32(attrs.get("alpha", 1.0)) * np.float32(groups.value(sa).item()))
    factor = scale * groups.value(sb)
    if sy:
        factor = factor / np.float32(groups.value(sy).item())
    real = groups.node("Cast", [sums], f"{name}_real", to=to)
    product = [real, groups.constant(np.asarray(factor, np.float32))]
    if not sy:
        groups.node("Mul", product, node.output[0])
        return
    one = groups.constant(np.ones((), np.float32))
    steps = groups.node("Mul", product, f"{name}_steps")
    groups.node("QuantizeLinear", [steps, one, zy], node.output[0])


@_rule("MatMulInteger16")
def _matmul_int16(groups: Groups, node: Any, inputs: list[str], _attrs: dict[str, Any]) -> None:
    wide, to = f"{groups.prefix}{node.output[0]}_wide", onnx_package().TensorProto.INT32
    operands = [groups.node("Cast", [x], f"{wide}{i}", to=to) for i, x in enumerate(inputs)]
    groups.node("MatMul", operands, node.output[0])


@_rule("QLinearAdd", "QLinearMul")
def _pair(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    a, sa, za, b, sb, zb, sy, zy = (*inputs, "")[:8]
    operands = [groups.dequantized(a, sa, za), groups.dequantized(b, sb, zb)]
    into = [sy, zy or groups.zero_of(a)]
    groups.quantized(node.op_type.removeprefix("QLinear"), operands, node, into, **attrs)


@_rule("QLinearConcat")
def _concat(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    sy, zy, *parts = inputs
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    operands = [groups.dequantized(*triple) for triple in triples]
    groups.quantized("Concat", operands, node, [sy, zy], **attrs)


@_rule("QLinearWhere")
def _where(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    condition, x, sx, zx, y, sy, zy, sz, zz = inputs
    operands = [condition, groups.dequantized(x, sx, zx), groups.dequantized(y, sy, zy)]
    groups.quantized("Where", operands, node, [sz, zz], **attrs)


@_rule(
    *("QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSigmoid"),
    "QLinearSoftmax",
)
def _unary(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    x, sx, zx, sy, zy = (*inputs, "")[:5]
    if (attrs.pop("opset", groups.opset) < 13) != (groups.opset < 13):
        raise UnsupportedError("its softmax is of another operator set than the model")
    op = node.op_type.removeprefix("QLinear")
    if op == "Softmax":  # whose axis of old is another by default
        attrs.setdefault("axis", -1)
    into = [sy, zy or groups.zero_of(x)]
    groups.quantized(op, [groups.dequantized(x, sx, zx)], node, into, **attrs)


@_rule("NhwcMaxPool")
def _max_pool(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    groups.node("MaxPool", inputs, node.output[0], **attrs)


def apply_rule(groups: Groups, node: Any, attrs: dict[str, Any]) -> None:
    """Add what a node stands for; where channels are last, between two orders of axes."""
    rule, inputs = RULES[node.op_type], list(node.input)
    if not attrs.pop("channels_last", node.op_type == "NhwcMaxPool"):
        rule(groups, node, inputs, attrs)
        return
    rank, name = groups.rank(inputs[0]), f"{groups.prefix}{node.output[0]}"
    if rank < _ROW:
        raise UnsupportedError("of data whose channels are last the rank must be known")
    first = [0, rank - 1, *range(1, rank - 1)]
    inputs[0] = groups.node("Transpose", [inputs[0]], f"{name}_channels_first", perm=first)
    inner = type(node)()
    inner.CopyFrom(node)
    inner.output[0] = f"{name}_image"
    rule(groups, inner, inputs, attrs)
    groups.node("Transpose", [inner.output[0]], node.output[0], perm=[0, *range(2, rank), 1])


_rule("DynamicQuantizeLSTM")(dynamic_quantize_lstm)
_rule("DynamicQuantizeMatMul")(dynamic_quantize_matmul)
_rule("MatMulIntegerToFloat")(matmul_integer_to_float)
_rule("Gelu")(gelu)
_rule("BiasGelu")(bias_gelu)
_rule("FastGelu")(fast_gelu)
_rule("QuickGelu")(quick_gelu)
_rule("Attention")(any_attention)
_rule("GroupQueryAttention")(group_query_attention)
_rule("RotaryEmbedding")(rotary_embedding)
_rule("MultiHeadAttention")(multi_head_attention)
_rule("FusedConv")(fused_conv)
_rule("FusedGemm")(fused_gemm)
_rule("FusedMatMul")(fused_matmul)
_rule("GatherBlockQuantized")(gather_block_quantized)
_rule("MatMulBnb4")(matmul_bnb4)
_rule("MatMulNBits")(matmul_n_bits)
_rule("QAttention")(quantized_attention)
_rule("EmbedLayerNormalization")(embed_layer_normalization)
_rule("QEmbedLayerNormalization")(quantized_embed_layer_normalization)
_rule("SimplifiedLayerNormalization")(simplified_layer_normalization)
_rule("SkipLayerNormalization")(skip_layer_normalization)
_rule("SkipSimplifiedLayerNormalization")(skip_simplified_layer_normalization)
