"""Quantized addition, subtraction and multiplication."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay import op as plain
from tvm_qnn.relay.expr import spec
from tvm_qnn.relay.qnn import canonical


def _binary_operator(name: str, compute: Callable[..., relax.Expr], what: str) -> Any:
    def operator(
        lhs: relax.Expr,
        rhs: relax.Expr,
        lhs_scale: Any,
        lhs_zero_point: Any,
        rhs_scale: Any,
        rhs_zero_point: Any,
        output_scale: Any,
        output_zero_point: Any,
        lhs_axis: int = -1,
        rhs_axis: int = -1,
    ) -> relax.Call:
        dtypes = spec(f"{name}: lhs", lhs).dtype, spec(f"{name}: rhs", rhs).dtype
        if dtypes[0] != dtypes[1]:
            raise QnnError(f"{name}: lhs and rhs must have one dtype, got {' and '.join(dtypes)}")
        scales = (lhs_scale, rhs_scale, output_scale)
        points = (lhs_zero_point, rhs_zero_point, output_zero_point)
        return compute((lhs, rhs), scales, points, (lhs_axis, rhs_axis))

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"""{what}

    Args:
        lhs: int8, uint8 or int32.
        rhs: of the same dtype; shapes broadcast.
        lhs_scale: one, or one per channel along ``lhs_axis``.
        lhs_zero_point: likewise.
        rhs_scale: one, or one per channel along ``rhs_axis``.
        rhs_zero_point: likewise.
        output_scale: of the result.
        output_zero_point: of the result.
        lhs_axis: of the channels of ``lhs``.
        rhs_axis: of the channels of ``rhs``.
    """
    return operator


add = _binary_operator(
    "add",
    partial(canonical.sum_of, plain.add),
    "Add quantized tensors, after each is brought to the result's scale.",
)
subtract = _binary_operator(
    "subtract",
    partial(canonical.sum_of, plain.subtract),
    "Subtract quantized tensors, after each is brought to the result's scale.",
)
mul = _binary_operator(
    "mul", canonical.product_of, "Multiply quantized tensors; the product is rescaled once."
)
