"""Rules for concatenations and functions of a byte."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from legalize.kernels.border import Border, border_for
from legalize.kernels.call import call_tir
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.x86 import AMX, ISAS
from legalize.kernels.isa.x86_vectors import VECTORS
from legalize.kernels.join.byte_changes import Change, Clamp, cheapest_change
from legalize.kernels.join.kernel import Part, join
from legalize.kernels.kernel import Builder, Lowered, Operands, Slice
from qnn_ops import quantized_concat, quantized_lookup, quantized_relu, requantize
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of, constant_of, spec_of
from qnn_ops.quantized.concat import conversion_table
from qnn_ops.quantized.relu import relu_multiplier

# The most tensors that one function joins: TVM uses some stack for each, and LLVM's time grows with
# the square of their number.
_MOST = 16


def _concat(
    builder: Builder, attrs: Attrs, operands: Operands, isa: VectorIsa, border: Border | None = None
) -> Lowered:
    inputs = operands[0]
    if isinstance(inputs, relax.Tuple):
        fields = list(inputs.fields)
    else:
        fields = [builder.emit(inputs[index]) for index in range(len(inputs.ty.fields))]
    tables = [conversion_table(attrs, index) for index in range(len(fields))]
    return _join(builder, isa, fields, tables, attrs.axis, attrs.out_dtype, border=border)


TableOf = Callable[[Attrs, Operands], Array | None]
"""Returns the table of a function of a byte; None if another kernel is better."""


def _change_bytes(
    builder: Builder,
    attrs: Attrs,
    operands: Operands,
    isa: VectorIsa,
    border: Border | None = None,
    *,
    table_of: TableOf,
) -> Lowered:
    table = table_of(attrs, operands)
    if table is None:
        return None
    # With a border, copy row by row of the images; otherwise copy all of the tensor at once.
    axis = 0 if border is None else 2
    return _join(builder, isa, [operands[0]], [table], axis, str(table.dtype), border=border)


def _lookup(_attrs: Attrs, operands: Operands) -> Array | None:
    return constant_of(operands[1])


def _relu(attrs: Attrs, operands: Operands) -> Array | None:
    # In primitives a clamp is vector code, too, which fuses with what computes the data.
    is_clamp = relu_multiplier(attrs) == 1
    return None if is_clamp else _tabulated(quantized_relu, attrs, operands[0])


def _requantize(attrs: Attrs, operands: Operands) -> Array | None:
    encoding = attrs.input_scale, attrs.input_zero_point
    dtypes = spec_of(operands[0]).dtype, attrs.out_dtype
    if any(isinstance(each, tuple) for each in encoding) or not set(dtypes) <= {"int8", "uint8"}:
        return None
    return _tabulated(requantize, attrs, operands[0])


def _tabulated(operator: Operator[Any], attrs: Attrs, data: relax.Expr) -> Array:
    """Tabulate an operator that is a function of one byte."""
    low, high = dtype_range(spec_of(data).dtype)
    values = np.arange(low, high + 1).astype(spec_of(data).dtype)
    of_a_row = type(attrs)(**{**vars(attrs), "axis": -1})
    return operator.apply(of_a_row, values)


def copy_part(
    builder: Builder,
    isa: VectorIsa,
    data: relax.Expr,
    table: Array | None,
    part_of: Slice,
    dtype: str,
    into: relax.Expr | None,
) -> Lowered:
    """Write a channels-last tensor to some channels of a larger one.

    Args:
        builder: the module's builder.
        isa: the instruction set.
        data: the tensor.
        table: the function of its values, as from ``conversion_table``.
        part_of: the channels to write.
        dtype: the larger tensor's dtype.
        into: the larger tensor, if others have written to it.

    Returns:
        The larger tensor; None if there is nothing to write.
    """
    return _join(builder, isa, [data], [table], -1, dtype, part_of, into)


def _join(
    builder: Builder,
    isa: VectorIsa,
    inputs: list[relax.Expr],
    tables: Sequence[Array | None],
    axis: int,
    dtype: str,
    part_of: Slice | None = None,
    into: relax.Expr | None = None,
    border: Border | None = None,
) -> Lowered:
    """Join tensors; a table starts with the result for the lowest value of the input's dtype."""
    specs = [spec_of(data) for data in inputs]
    if not specs[0].shape or 0 in map(prod, (spec.shape for spec in specs)):
        return None
    rank = len(specs[0].shape)
    axis %= rank
    is_framed = rank == 4 and (axis == 3 or len(inputs) == 1) and len(inputs) <= _MOST
    if border is not None and not is_framed:
        return None
    if len(inputs) > _MOST:
        return _join_in_steps(builder, isa, inputs, tables, axis, dtype)
    parts = tuple(
        Part(spec.shape, spec.dtype, _change(table))
        for spec, table in zip(specs, tables, strict=True)
    )
    constants = [
        # Kernels index tables by the value's bits, where -128 follows 127.
        np.roll(table, 128 if part.dtype == "int8" else 0).view(np.uint8)
        for part, table in zip(parts, tables, strict=True)
        if part.has_table and table is not None
    ]
    operands = [*inputs, *(relax.const(isa.packed_table(table), "uint8") for table in constants)]
    shape = list(specs[0].shape)
    shape[axis] = part_of.whole if part_of else sum(spec.shape[axis] for spec in specs)
    function = join(isa, parts, axis, dtype, part_of, border)
    whole = tuple(shape)
    if border is not None:
        whole = border.around((shape[0], shape[1], shape[2], shape[3]))
    return call_tir(builder, "join", function, operands, whole, dtype, into)


def _join_in_steps(
    builder: Builder,
    isa: VectorIsa,
    inputs: list[relax.Expr],
    tables: Sequence[Array | None],
    axis: int,
    dtype: str,
) -> Lowered:
    """Join many tensors by several functions, which write to the same result."""
    extents = [spec_of(data).shape[axis] for data in inputs]
    joined: relax.Expr | None = None
    for first in range(0, len(inputs), _MOST):
        some = slice(first, first + _MOST)
        where = Slice(sum(extents), sum(extents[:first]))
        joined = _join(builder, isa, inputs[some], tables[some], axis, dtype, where, joined)
    return joined


def _change(table: Array | None) -> Change:
    if table is None:
        return Clamp(0, 255)
    return cheapest_change(table.astype(np.int64) - dtype_range(str(table.dtype))[0])


RULES: tuple[tuple[Operator[Any], Callable[..., Lowered]], ...] = (
    (quantized_concat, _concat),
    (quantized_lookup, partial(_change_bytes, table_of=_lookup)),
    (quantized_relu, partial(_change_bytes, table_of=_relu)),
    (requantize, partial(_change_bytes, table_of=_requantize)),
)


def _with_border(
    builder: Builder,
    call: relax.Call,
    reader: relax.Call,
    *,
    rule: Callable[..., relax.Expr | None],
    isa: VectorIsa,
) -> Lowered:
    border = border_for(call, reader)
    if border is None:
        return None
    return rule(builder, attrs_of(call), list(call.args), isa=isa, border=border)


BORDERS = [
    (
        operator,
        (*conv.features, *vectors.features),
        partial(_with_border, rule=rule, isa=vectors),
    )
    for conv in (AMX, *ISAS)
    # Without byte products, the readers widen their data when they pad it.
    if conv.has_byte_products
    for vectors in VECTORS
    for operator, rule in RULES
]
"""Rules ``rule(builder, call, reader)``: see ``table.BORDERS``."""
