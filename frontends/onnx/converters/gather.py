"""Gather and GatherElements, and the places of their kin."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import counted_places
from qnn_ops.registry import constant_of, spec_of

NEAREST = "nearest"
"""An attribute of a node of which places that are not there are the nearest ones, as no error may
come of them: of a branch that may not be taken, or of what another operator is written as."""


_FEW = 64
"""Numbers of a constant from which others are taken at once, as those of a shape."""


@converter("Gather")
def _gather(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, places = operands_of(operands, 2)
    axis = int(attributes.get("axis", 0)) % len(spec_of(data).shape)
    known = [constant_of(each) for each in (data, places)]
    if known[0] is not None and known[1] is not None and known[0].size <= _FEW:
        with suppress(IndexError):  # of which a run shall tell
            return relax.const(np.take(known[0], known[1], axis), str(known[0].dtype))
    places = _counted(builder, "Gather", places, spec_of(data).shape[axis], attributes)
    return R.take(data, places, axis, mode="clip")


@converter("GatherElements")
def _gather_elements(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, places = operands_of(operands, 2)
    axis = int(attributes.get("axis", 0)) % len(spec_of(data).shape)
    places = _counted(builder, "GatherElements", places, spec_of(data).shape[axis], attributes)
    return R.gather_elements(data, places, axis)


def count_places(
    builder: relax.BlockBuilder, name: str, operands: list[Any], attributes: dict[str, Any]
) -> None:
    """Count and check the places that GatherND, ScatterElements or ScatterND has as operands.

    Those of other operators stay.
    """
    if name not in ("GatherND", "ScatterElements", "ScatterND"):
        return
    shape, places = spec_of(operands[0]).shape, operands[1]
    if name == "ScatterElements":
        size = shape[int(attributes.get("axis", 0)) % len(shape)]
        operands[1] = _counted(builder, name, places, size, attributes)
        return
    first, (*rest, depth) = int(attributes.get("batch_dims", 0)), spec_of(places).shape
    columns = []
    for number, size in enumerate(shape[first : first + depth]):
        axis = len(rest)
        known = constant_of(places)
        if known is None:
            column = builder.emit(R.strided_slice(places, [axis], [number], [number + 1]))
        else:
            column = relax.const(known[..., number : number + 1], str(known.dtype))
        columns.append(_counted(builder, name, column, size, attributes))
    operands[1] = columns[0] if len(columns) == 1 else builder.emit(R.concat(columns, len(rest)))


def _counted(
    builder: relax.BlockBuilder,
    name: str,
    places: relax.Expr,
    size: int,
    attributes: dict[str, Any],
) -> relax.Expr:
    """Return places that are counted from the first one; one that is not there ends the run."""
    known, dtype = constant_of(places), spec_of(places).dtype
    if known is not None:
        if known.size and not -size <= known.min() <= known.max() < size:
            raise UnsupportedError(f"places beyond the {size} that there are")
        return relax.const(np.asarray(known % size, known.dtype), str(known.dtype))
    if size == 0 or 0 in spec_of(places).shape:
        return places
    if not attributes.get(NEAREST, 0):
        source = f"{name} that gives {attributes['tvm_custom']['outputs'][0]!r}"
        return builder.emit(counted_places(places, size, source, from_end=True))
    zero, extent, last = (
        relax.const(np.asarray(each, dtype), dtype) for each in (0, size, size - 1)
    )
    counted = R.where(R.less(places, zero), R.add(places, extent), places)
    return builder.emit(R.minimum(R.maximum(counted, zero), last))
