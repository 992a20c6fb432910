"""ReduceMax and ReduceMin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.axes import axes_of
from frontends.onnx.converters.known import is_dequantized
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of

Reduction = Callable[..., relax.Expr]


@converter("ReduceMax")
def _reduce_max(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    return _extreme(builder, operands, attributes, R.max, -np.inf)


@converter("ReduceMin")
def _reduce_min(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    return _extreme(builder, operands, attributes, R.min, np.inf)


def _extreme(
    builder: relax.BlockBuilder,
    operands: Operands,
    attributes: dict[str, Any],
    reduction: Reduction,
    infinity: float,
) -> relax.Expr:
    """Reduce along axes; of infinities alone, as masks leave them, to one.

    TVM's sums of this kind begin with the lowest, or the highest, finite number. ONNX Runtime
    begins with the first element: where this is NaN the result is. Others that are NaN count for
    nothing (as there, but for some that its vectors begin with).
    """
    data, given = operands_of(operands, 2)
    spec = spec_of(data)
    axes, emit = axes_of(given, attributes, len(spec.shape)), builder.emit
    if not axes and attributes.get("noop_with_empty_axes", 0):
        return data
    if 0 in spec.shape:
        raise UnsupportedError("it has no elements")
    along = {"axis": axes or None, "keepdims": bool(attributes.get("keepdims", 1))}
    if not spec.dtype.startswith("float") or is_dequantized(builder, data):
        return reduction(data, **along)
    limit = relax.const(np.asarray(infinity, spec.dtype))
    numbers = emit(R.where(emit(R.isnan(data)), limit, data))
    found = emit(reduction(numbers, **along))
    is_other = emit(R.astype(emit(R.not_equal(numbers, limit)), "int8"))
    has_other = emit(R.max(is_other, **along))
    is_finite = emit(R.greater(has_other, relax.const(np.int8(0))))
    found = emit(R.where(is_finite, found, limit))
    axes = axes or list(range(len(spec.shape)))
    ends = [1 if axis in axes else size for axis, size in enumerate(spec.shape)]
    first = emit(R.strided_slice(data, axes, [0] * len(axes), [1] * len(axes)))
    first = emit(R.reshape(first, ends if along["keepdims"] else spec_of(found).shape))
    return R.where(emit(R.isnan(first)), first, found)
