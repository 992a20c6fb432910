"""The moments of rows, in an order that is ONNX Runtime's."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops import fused_multiply_add, row_moments
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded


def moments(
    builder: relax.BlockBuilder, data: relax.Expr, axis: int, order: str
) -> tuple[relax.Expr, relax.Expr]:
    """Return the mean over the axes from one on, and that of the squared distances.

    Args:
        builder: of the module.
        data: float32.
        axis: the first of those that are reduced.
        order: of ``row_moments``.

    Returns:
        Both with one axis of size 1 in the places of those.
    """
    shape, emit = spec_of(data).shape, builder.emit
    rows = emit(R.reshape(data, (prod(shape[:axis]), prod(shape[axis:]))))
    both = emit(row_moments(rows, order))
    columns = (emit(R.strided_slice(both, [1], [begin], [begin + 1])) for begin in range(2))
    mean, squares = (emit(R.reshape(column, (*shape[:axis], 1))) for column in columns)
    return mean, squares


def normalized(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    order: str,
    epsilon: float,
    parameters: tuple[relax.Expr, relax.Expr | None],
) -> relax.Expr:
    """Normalize rows, multiply by a scale and add a bias, as ONNX Runtime does.

    Of orders that add in vectors distances from the mean are multiplied by the reciprocal of the
    deviation, and the product with the scale and the sum with the bias have one rounding. Of others
    distances are divided, and each step is rounded. There is no mean in orders of squares.
    """
    shape, emit = spec_of(data).shape, builder.emit
    count = prod(shape[axis:])
    mean, squares = moments(builder, data, axis, order)
    deviation = emit(R.sqrt(emit(R.add(squares, relax.const(np.float32(epsilon))))))
    rows = emit(R.reshape(data, (*shape[:axis], count)))
    if "squares" not in order:
        rows = emit(R.subtract(rows, mean))
    scale, bias = (each if each is None else emit(R.reshape(each, (count,))) for each in parameters)
    if not order.startswith("vector"):
        result = emit(R.multiply(emit(R.divide(rows, deviation)), scale))
        if bias is not None:
            result = emit(R.add(emit(rounded(result)), bias))
        return emit(R.reshape(result, shape))
    reciprocal = emit(R.divide(relax.const(np.float32(1)), deviation))
    steps = emit(R.multiply(rows, reciprocal))
    if bias is None:
        result = emit(R.multiply(steps, scale))
    else:
        result = emit(fused_multiply_add(steps, scale, bias))
    return emit(R.reshape(result, shape))


def order_of(attributes: dict[str, Any], count: int, names: tuple[str, str], least: int) -> str:
    """Return the order that is stated, or that of MLAS, which has vectors from a size on.

    Args:
        attributes: of the operator; those of ONNX Runtime's own operators may state an order.
        count: the elements of a row.
        names: of the orders of short rows, and of longer ones.
        least: the elements of a longer one.
    """
    if "order" in attributes:
        return str(attributes["order"].decode())
    return names[count >= least]
