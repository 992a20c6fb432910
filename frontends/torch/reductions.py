"""The largest and the smallest values along axes."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.torch.reader import operator_of, values_of

_EXTREMES = {"amax.default": R.max, "amin.default": R.min}
EXTREMES = tuple(_EXTREMES)


def extreme(node: Any, importer: Any) -> relax.Var:
    """Reduce by a maximum or a minimum; no axes are all."""
    data, axes, keeps = values_of(node)
    reduce = _EXTREMES[operator_of(node)]
    call = reduce(importer.env[data], [int(axis) for axis in axes] or None, keepdims=bool(keeps))
    result: relax.Var = importer.block_builder.emit(call)
    return result
