"""Pads, of which some crop."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.reader import operator_of, values_of
from qnn_ops.registry import spec_of

PADS = ("constant_pad_nd.default", "pad.default")

_MODES = ("constant", "reflect", "replicate", "circular")


def check_pad(node: Any) -> None:
    """Check a pad.

    Raises:
        UnsupportedError: it crops and mirrors at once, or PyTorch has no such mode.
    """
    _, sizes, mode, _ = _parts(node)
    if mode not in _MODES:
        raise UnsupportedError(f"its mode must be one of {', '.join(_MODES)}, got {mode!r}")
    if mode != "constant" and min(sizes, default=0) < 0:
        raise UnsupportedError(f"a pad of the mode {mode!r} cannot crop, got {sizes}")


def pad(node: Any, importer: Any) -> relax.Var:
    """Pad the last axes, the last one first; negative sizes crop."""
    name, sizes, mode, value = _parts(node)
    data, emit = importer.env[name], importer.block_builder.emit
    shape = spec_of(data).shape
    pairs = [(sizes[place], sizes[place + 1]) for place in range(0, len(sizes), 2)]
    ends = [(0, 0)] * (len(shape) - len(pairs)) + pairs[::-1]
    axes = [axis for axis, pair in enumerate(ends) if min(pair) < 0]
    if axes:
        begins = [max(-ends[axis][0], 0) for axis in axes]
        stops = [shape[axis] - max(-ends[axis][1], 0) for axis in axes]
        data = emit(R.strided_slice(data, axes, begins, stops))
    widths = [max(size, 0) for pair in ends for size in pair]
    if not any(widths):
        return data
    result: relax.Var = emit(R.nn.pad(data, widths, mode, value))
    return result


def _parts(node: Any) -> tuple[Any, list[int], str, float]:
    """Return the data, the sizes, the mode and the value of a pad."""
    data, sizes, *others = values_of(node)
    mode, value = others if operator_of(node) == "pad.default" else ("constant", *others)
    return data, [int(size) for size in sizes], str(mode), float(value or 0)
