"""ReduceLogSum and ReduceLogSumExp."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.axes import axes_of
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of


@converter("ReduceLogSum")
def _log_sum(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, axes, keeps = _parts(operands, attributes)
    return R.log(builder.emit(R.sum(data, axes, keepdims=keeps)))


@converter("ReduceLogSumExp")
def _log_sum_exp(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Take the largest off before powers are summed up, but for an infinite one."""
    data, axes, keeps = _parts(operands, attributes)
    emit, dtype = builder.emit, spec_of(data).dtype
    most = emit(R.max(data, axes, keepdims=True))
    zero = relax.const(np.zeros((), dtype), dtype)
    base = emit(R.where(emit(R.isfinite(most)), most, zero))
    powers = emit(R.exp(emit(R.subtract(data, base))))
    result = emit(R.add(emit(R.log(emit(R.sum(powers, axes, keepdims=True)))), base))
    return result if keeps else R.squeeze(result, axes)


def _parts(operands: Operands, attributes: dict[str, Any]) -> tuple[relax.Expr, list[int], bool]:
    data, given = operands_of(operands, 2)
    spec = spec_of(data)
    if not spec.dtype.startswith("float"):
        raise UnsupportedError(f"its data must be real numbers, got {spec.dtype}")
    axes = axes_of(given, attributes, len(spec.shape))
    if not axes and attributes.get("noop_with_empty_axes", 0):
        raise UnsupportedError("no axes are all axes: noop_with_empty_axes is not imported")
    return data, axes or list(range(len(spec.shape))), bool(attributes.get("keepdims", 1))
