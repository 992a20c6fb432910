"""The moments of rows, in an order that is ONNX Runtime's."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops import row_moments
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
    epsilon: np.float32,
    parameters: tuple[relax.Expr, relax.Expr | None],
) -> relax.Expr:
    """Divide distances from the mean by the deviation, multiply by a scale and add a bias.

    Each of these is rounded, as ONNX Runtime's operators with a stated order do it.
    """
    shape, emit = spec_of(data).shape, builder.emit
    count = prod(shape[axis:])
    mean, squares = moments(builder, data, axis, order)
    deviation = emit(R.sqrt(emit(R.add(squares, relax.const(epsilon)))))
    rows = emit(R.reshape(data, (*shape[:axis], count)))
    steps = emit(R.divide(emit(R.subtract(rows, mean)), deviation))
    scale, bias = parameters
    result = emit(R.multiply(steps, emit(R.reshape(scale, (count,)))))
    if bias is not None:
        result = emit(R.add(emit(rounded(result)), emit(R.reshape(bias, (count,)))))
    return emit(R.reshape(result, shape))
