"""Sums and differences of tensors of one shape on microcontrollers, as affine forms."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.elementwise.add import sum_form
from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, splat, vector_of
from legalize.kernels.isa.base import AffineForm
from legalize.kernels.isa.helium import FOUR, HELIUM, lifted_saturating
from legalize.kernels.isa.mcu import CORES, RISCV32
from legalize.kernels.kernel import Builder, Lowered, Operands, Row
from legalize.written import arguments, new_function
from qnn_ops import quantized_add, quantized_subtract
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import Attrs, Operator, spec_of

_TOP = 24  # the bits of a word above the byte of an output


def add(
    count: int,
    form: AffineForm,
    dtypes: tuple[str, str, str],
    bounds: tuple[int, int],
    *,
    lanes: int,
) -> tirx.PrimFunc:
    """Build the function that adds two tensors.

    Args:
        count: the number of values of a tensor.
        form: the sum.
        dtypes: the dtypes of lhs, rhs and the output.
        bounds: the output's lowest and highest value.
        lanes: values at a time; four fill a vector of Helium.
    """
    with new_function("add") as builder:
        lhs, rhs, output = (((count,), dtype) for dtype in dtypes)
        buffers = arguments(lhs=lhs, rhs=rhs, output=output)
        whole = count // lanes
        with T.serial(whole) as i:
            _add(buffers, i * lanes, form, bounds, lanes)
        for offset in range(whole * lanes, count):
            _add(buffers, offset, form, bounds, 1)
    return builder.get()


def _add(
    buffers: Sequence[Buffer], start: Index, form: AffineForm, bounds: tuple[int, int], lanes: int
) -> None:
    lhs, rhs, output = buffers
    place, wide = ramp(start, lanes), vector_of("int32", lanes)
    lowest = [dtype_range(str(buffer.dtype))[0] for buffer in buffers]

    def constant(value: int) -> Vector:
        return splat("int32", value, lanes)

    # The kernel takes values, not steps from the lowest one: the addend includes the difference.
    moved = form.addend - lowest[0] * form.lhs - lowest[1] * form.rhs
    products = T.Cast(wide, lhs[place]) * constant(form.lhs)
    value = kept(products + T.Cast(wide, rhs[place]) * constant(form.rhs) + constant(moved))
    if form.below:
        below = T.Select(value < constant(form.zero), constant(form.below), constant(0))
        value = kept(value + below)
    late = lowest[2]
    if _has_room(form, lowest[2]):
        value, late = value + constant(lowest[2] << form.shift), 0
    is_saturating = lanes == FOUR and form.shift <= _TOP and not late and lowest[2]
    if is_saturating and bounds == (-128, 127):
        raised = kept(lifted_saturating(kept(value), _TOP - form.shift))
        value = T.shift_right(raised, constant(_TOP))
    else:
        value = T.shift_right(value, constant(form.shift)) + constant(late)
        value = T.max(T.min(kept(value), constant(bounds[1])), constant(bounds[0]))
    T.buffer_store(output, T.Cast(vector_of(str(output.dtype), lanes), value), [place])


def _has_room(form: AffineForm, lowest: int) -> bool:
    """Tell whether sums stay in int32 if the output's lowest value is added before the shift."""
    ends = [
        lhs * form.lhs + rhs * form.rhs + form.addend + below + (lowest << form.shift)
        for lhs, rhs, below in product((0, 255), (0, 255), (0, form.below))
    ]
    return max(map(abs, ends)) < 2**31


def _sum(
    builder: Builder,
    attrs: Attrs,
    operands: Operands,
    *,
    operator: Operator[Any],
    lanes: int,
) -> Lowered:
    lhs, rhs = (spec_of(operand) for operand in operands)
    if lhs.shape != rhs.shape or 0 in lhs.shape:
        return None
    # These kernels leave ONNX Runtime's sums, which are of floats, to primitives.
    form = sum_form(operator, attrs, lhs, rhs, fuses=True)
    if not isinstance(form, AffineForm):
        return None
    dtypes = lhs.dtype, rhs.dtype, attrs.out_dtype
    bounds = attrs.out_min, attrs.out_max
    flat = [builder.emit(relax.op.reshape(each, (prod(lhs.shape),))) for each in operands]
    function = add(prod(lhs.shape), form, dtypes, bounds, lanes=lanes)
    return relax.op.reshape(call_written(builder, function, flat), lhs.shape)


ROWS: list[Row] = [
    (operator, features, partial(_sum, operator=operator, lanes=lanes))
    for operator in (quantized_add, quantized_subtract)
    for features, lanes in ((HELIUM, FOUR), (CORES, 1), (RISCV32, 1))
]
