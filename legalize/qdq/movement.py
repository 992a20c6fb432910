"""Operators that only move, choose or join values: they are applied to the integers."""

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.qdq.group import (
    MOVEMENTS,
    RUNTIMES,
    Group,
    LeftInFloatError,
    NoRuleError,
    Operand,
    operator_name,
    rule,
)
from qnn_ops import dequantize, quantize, quantized_concat, quantized_lookup, quantized_pad
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME, tabulated
from qnn_ops.arithmetic.xnnpack import XNNPACK
from qnn_ops.dialect.registry import as_const, operator_of, spec_of


@rule("concat", arithmetics=[ONNXRUNTIME, XNNPACK])
def _concat(group: Group, call: relax.Call) -> relax.Expr:
    inputs = group.value(call.args[0])
    if not isinstance(inputs, relax.Tuple):
        raise NoRuleError("what is joined must be listed")
    operands = [group.activation(field) for field in inputs.fields]
    is_copy = group.arithmetic == XNNPACK
    if is_copy and any(operand.encoding != group.encoding for operand in operands):
        raise NoRuleError("XNNPACK joins tensors of one scale and zero point")
    return quantized_concat(
        [operand.data for operand in operands],
        [operand.encoding[0] for operand in operands],
        [operand.encoding[1] for operand in operands],
        **group.result(),
        axis=int(call.attrs.axis),
        arithmetic="tflite" if is_copy else group.arithmetic,
    )


CHOICES = {f"relax.{name}" for name in ("gather_elements", "max", "min", "nn.pad", "take")}
"""Operators over which ONNX Runtime moves no dequantize: a dequantize must make their operand."""


def _moved(group: Group, call: relax.Call) -> relax.Expr:
    inner = group.value(call.args[0])
    if operator_of(inner) is dequantize or operator_name(inner) in MOVEMENTS:
        data = _alike(group, call.args[0]).data
    else:
        data = group.builder.emit(group.folded(call.args[0]))
    return relax.Call(call.op, [data, *call.args[1:]], call.attrs, call.ty_args)


def _chosen(group: Group, call: relax.Call) -> relax.Expr:
    if operator_name(group.value(call.args[0])) in CHOICES:
        data = group.builder.emit(group.folded(call.args[0]))
    else:
        data = _alike(group, call.args[0]).data
    if operator_name(call) == "relax.nn.pad":
        if str(call.attrs.pad_mode) != "constant":
            raise LeftInFloatError("padding that is no constant")
        return _padded(group, call, data)
    return relax.Call(call.op, [data, *call.args[1:]], call.attrs, call.ty_args)


for _runtime in RUNTIMES.values():
    _runtime.rules.update(dict.fromkeys(MOVEMENTS, _moved))
RUNTIMES[ONNXRUNTIME].rules.update(dict.fromkeys(CHOICES, _chosen))


def _alike(group: Group, expr: relax.Expr) -> Operand:
    """Return an operand that has the result's encoding."""
    operand = group.quantized(expr)
    if (operand.scale, operand.zero_point, operand.dtype) != group.encoding:
        raise LeftInFloatError("what is moved has another scale or zero point afterwards")
    return operand


def _padded(group: Group, call: relax.Call, data: relax.Expr) -> relax.Expr:
    value, encoding = np.asarray(call.attrs.pad_value, np.float32), group.encoding
    point = quantize.evaluate(value, *encoding, arithmetic=group.arithmetic)
    return quantized_pad(data, [int(size) for size in call.attrs.pad_width], int(point))


@rule("split")
def part_of_split(group: Group, part: relax.TupleGetItem | relax.Call) -> relax.Expr:
    """Return a part of a split as a slice."""
    if not isinstance(part, relax.TupleGetItem):  # TVM's importer returns a single part itself
        return _alike(group, part.args[0]).data
    split = group.value(part.tuple_value)
    if operator_name(split) != "relax.split":
        raise LeftInFloatError("a part of a tuple")
    data = _alike(group, split.args[0]).data
    axis = int(split.attrs.axis) % len(spec_of(data).shape)
    sizes = [spec_of(relax.Var("part", field)).shape[axis] for field in split.ty.fields]
    begin = sum(sizes[: part.index])
    return R.strided_slice(data, [axis], [begin], [begin + sizes[part.index]])


@rule("where")
def _where(group: Group, call: relax.Call) -> relax.Expr:
    """QLinearWhere: tables convert both operands to the result's encoding."""
    condition, *values = call.args
    parts = []
    for operand in (group.activation(value) for value in values):
        if operand.encoding == group.encoding:
            parts.append(operand.data)
            continue
        table = tabulated(operand.encoding, group.encoding)
        lookup = quantized_lookup(operand.data, as_const(table))
        parts.append(group.builder.emit(lookup))
    return R.where(group.renewed(condition), *parts)


@rule("nn.pad", arithmetics=[XNNPACK])
def _pad(group: Group, call: relax.Call) -> relax.Expr:
    data = _integers(group, call.args[0])
    if str(call.attrs.pad_mode) != "constant":
        return relax.Call(call.op, [data], call.attrs, call.ty_args)
    return _padded(group, call, data)


def _integers(group: Group, expr: relax.Expr) -> relax.Expr:
    if operator_of(group.value(expr)) is dequantize:
        operand = group.quantized(expr)
        if operand.encoding == group.encoding:
            return operand.data
    call = quantize(group.renewed(expr), *group.encoding, arithmetic=group.arithmetic)
    return group.builder.emit(call)
