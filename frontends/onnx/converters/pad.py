"""Pad."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.bounds import check_places
from frontends.errors import UnsupportedError
from frontends.onnx.converters.known import known_number
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of

_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}
"""numpy's names."""


@converter("Pad")
def _pad(builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]) -> relax.Expr:
    data, given, fill, axes = operands_of(operands, 4)
    shape = spec_of(data).shape
    widths = _widths(attributes.get("pads") if given is None else given, axes, len(shape))
    for axis, (before, after) in enumerate(widths):  # what is cut off
        if min(before, after) < 0:
            begin, end = max(-before, 0), shape[axis] - max(-after, 0)
            data = builder.emit(R.strided_slice(data, [axis], [begin], [end]))
    widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    mode = attributes.get("mode", b"constant").decode()
    if mode == "constant":
        value = 0.0 if fill is None else known_number(builder, fill)
        if value is None:
            raise UnsupportedError("its value must be constant")
        value = attributes.get("value", value)
        return R.nn.pad(data, [side for pair in widths for side in pair], "constant", value)
    if mode not in _MODES:
        raise UnsupportedError(f"mode {mode!r} is not known")
    for axis, pair in enumerate(widths):
        if any(pair):
            size = spec_of(data).shape[axis]
            if mode == "reflect" and max(pair) >= size:
                raise UnsupportedError("it reflects more than there is")
            check_places(size + sum(pair))
            places = np.pad(np.arange(size), pair, mode=_MODES[mode])  # type: ignore[call-overload]
            data = builder.emit(R.take(data, relax.const(places, "int64"), axis, mode="clip"))
    return data


def _widths(given: Any, axes: relax.Expr | None, rank: int) -> list[tuple[int, int]]:
    values = constant_of(given) if isinstance(given, relax.Expr) else np.asarray(given)
    chosen = np.arange(rank) if axes is None else constant_of(axes)
    if values is None or chosen is None or values.size != 2 * chosen.size:
        raise UnsupportedError("its widths must be constant, two for each axis")
    widths = [(0, 0)] * rank
    for axis, before, after in zip(
        chosen, values[: chosen.size], values[chosen.size :], strict=True
    ):
        widths[int(axis) % rank] = (int(before), int(after))
    return widths
