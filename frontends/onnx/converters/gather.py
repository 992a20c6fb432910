"""Gather and GatherElements."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of


@converter("Gather")
def _gather(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, places = operands_of(operands, 2)
    axis = int(attributes.get("axis", 0)) % len(spec_of(data).shape)
    return R.take(data, _from_first(builder, places, spec_of(data).shape[axis]), axis, mode="clip")


@converter("GatherElements")
def _gather_elements(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, places = operands_of(operands, 2)
    axis = int(attributes.get("axis", 0)) % len(spec_of(data).shape)
    return R.gather_elements(data, _from_first(builder, places, spec_of(data).shape[axis]), axis)


def _from_first(builder: relax.BlockBuilder, places: relax.Expr, size: int) -> relax.Expr:
    """Return places that are counted from the first; those beyond the ends are the nearest."""
    known = constant_of(places)
    if known is not None:
        if known.size and not -size <= known.min() <= known.max() < size:
            raise UnsupportedError(f"places beyond the {size} that there are")
        return relax.const(np.asarray(known % size, known.dtype), str(known.dtype))
    dtype = spec_of(places).dtype
    zero, extent, last = (
        relax.const(np.asarray(each, dtype), dtype) for each in (0, size, size - 1)
    )
    counted = R.where(R.less(places, zero), R.add(places, extent), places)
    return builder.emit(R.minimum(R.maximum(counted, zero), last))
