"""Make one table of all operators that compute, byte by byte, from one tensor of bytes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from legalize.passes.rewriter import CallRewriter, call_pass
from qnn_ops import quantized_lookup, requantize
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import QUANTIZED, dtype_range
from qnn_ops.dialect.registry import OPERATORS, Operator, as_const, attrs_of, constant_of, spec_of
from qnn_ops.dialect.sizes import is_open


def TabulateBytes() -> tvm.transform.Pass:
    """Make one ``quantized_lookup`` of all operators that compute from one tensor of bytes.

    Examples are a swish, x · sigmoid(x), or x · clip(x + 3) / 6 in five operators. If all operands
    follow from one 8-bit value and from constants of one value, there are 256 results.
    """
    names = (name for name, operator in OPERATORS.items() if _data_operands(operator))
    return call_pass(dict.fromkeys(names, _tabulated), "TabulateBytes")


def _data_operands(operator: Operator[Any]) -> int:
    """Return the number of operands that are data; the other operands are tables."""
    return 1 if operator is requantize else operator.elementwise


def _tabulated(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr | None:
    operator = OPERATORS[call.op.name]
    count = _data_operands(operator)
    data, tables = call.args[:count], call.args[count:]
    source = _source(writer, data)
    if source is None or not _is_function_of_bytes(call, source):
        return None
    # Other passes may make a single operator on one tensor a part of another operator.
    if count == 1 and source.same_as(data[0]):
        return None
    values = [_values(writer, operand) for operand in data]
    values += [constant_of(operand) for operand in tables]
    if any(each is None for each in values):
        return None
    results = operator.apply(attrs_of(call), *values)
    table = results.reshape(len(results), -1)[:, 0]
    return quantized_lookup(source, as_const(table))


def _source(writer: CallRewriter, operands: Sequence[relax.Expr]) -> relax.Expr | None:
    """Return the one tensor that all operands except constants depend on; None for several."""
    sources = [_followed(writer, each)[0] for each in operands if constant_of(each) is None]
    is_one = sources and all(source.same_as(sources[0]) for source in sources)
    return sources[0] if is_one else None


def _values(writer: CallRewriter, operand: relax.Expr) -> Array | None:
    """Return an operand's values for each value of its source, along the first axis.

    Each further axis has two elements if the operand's axis has several: the rounding of ONNX
    Runtime's sums depends on the operand that is repeated along the last axis.

    Returns:
        An array; without the first axis for a constant, and None if that has several values.
    """
    shape = spec_of(operand).shape
    if is_open(shape[-1:]):
        return None  # each run decides which operand is repeated
    few = tuple(2 if is_open([size]) else min(size, 2) for size in shape)
    constant = constant_of(operand)
    if constant is not None:
        values = np.unique(constant)
        return np.full(few, values[0]) if values.size == 1 else None
    _, table = _followed(writer, operand)
    return np.broadcast_to(table.reshape(-1, *[1] * len(few)), (len(table), *few))


def _followed(writer: CallRewriter, operand: relax.Expr) -> tuple[relax.Expr, Array]:
    """Return an operand's source, and its table. The source's own table has every value."""
    lookup = writer.producer(operand, quantized_lookup)
    table = None if lookup is None else constant_of(lookup.args[1])
    if lookup is not None and table is not None:
        return lookup.args[0], table
    dtype = spec_of(operand).dtype
    low, high = dtype_range(dtype if dtype in QUANTIZED else "uint8")
    return operand, np.arange(low, high + 1).astype(dtype)


def _is_function_of_bytes(call: relax.Call, source: relax.Expr) -> bool:
    """Tell whether each element of a call's result may be a function of one source element."""
    attrs, spec = vars(attrs_of(call)), spec_of(source)
    of_channels = [attrs.get(name) for name in ("input_scale", "input_zero_point")]
    if any(isinstance(value, tuple) for value in of_channels) or is_open(spec.shape):
        return False
    are_bytes = {spec.dtype, spec_of(call).dtype} <= set(QUANTIZED)
    return are_bytes and spec.shape == spec_of(call).shape and math.prod(spec.shape) > 1
