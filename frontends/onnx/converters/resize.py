"""Resize: to the nearest pixels, or to linear or cubic functions of their neighbours."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.bounds import check_indices
from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Array, Call, converter
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.registry import constant_of

_NEIGHBOURS = range(-1, 3)


def _resize_cubic(data: Any, axis: int, old: Array, slope: Any) -> Any:
    """Return the sum of four neighbours along an axis times their shares, from the first on.

    Pixels beyond an end equal the pixel at the end.

    Args:
        data: float32.
        axis: of the data.
        old: the position of each new pixel among the old ones, float32.
        slope: of the cubic functions at their zeros, ``cubic_coeff_a``.
    """
    size, first = data.shape[axis], np.floor(old)
    shares = _shares(old - first, np.float32(slope))
    indices = [first.astype(np.int64) + step for step in _NEIGHBOURS]
    column, result = [-1, *[1] * (data.ndim - 1 - axis)], None
    for share, index in zip(shares, indices, strict=True):
        neighbour = _taken(data, np.clip(index, 0, size - 1), axis)
        term = rounded(neighbour * share.reshape(column))
        result = term if result is None else result + term
    return result


def _taken(data: Any, indices: Any, axis: int) -> Any:
    return data.to(R.take(data.expr, relax.const(indices, "int64"), axis, mode="clip"))


def _shares(part: Array, a: Any) -> list[Array]:
    """Return the shares of the four neighbours; each operation is rounded to float32."""
    one, two = np.float32(1), np.float32(2)
    four, five, eight = (np.float32(number) for number in (4, 5, 8))

    def far(x: Array) -> Array:
        return np.asarray(((a * x - five * a) * x + eight * a) * x - four * a)

    def near(x: Array) -> Array:
        return np.asarray(((a + two) * x - (a + np.float32(3))) * x * x + one)

    return [far(part + one), near(part), near(one - part), far(two - part)]


_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.where(x == np.floor(x) + 0.5, np.floor(x), _half_away(x)),
    "round_prefer_ceil": lambda x: _half_away(x),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _half_away(x: Array) -> Array:
    return np.trunc(x + np.copysign(np.float32(0.5), x))


@converter("Resize")
def _resize(call: Call) -> Any:
    # The operator of version 10 has no region of interest.
    data, *_, scales, sizes = call.operands(4) if len(call.given) != 2 else (*call.given, None)
    mode = call.text("mode", "nearest")
    if mode not in ("linear", "nearest", "cubic") or call.integer("antialias"):
        raise UnsupportedError("only linear, nearest and cubic are imported, without antialias")
    if call.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise UnsupportedError("only the policy stretch is imported")
    data = call.array(data)
    shape = data.shape
    axes = [axis % len(shape) for axis in call.integers("axes", range(len(shape)))]
    factors, extents = _factors(scales, sizes, [shape[axis] for axis in axes])
    if min(extents) < 1:
        raise UnsupportedError("a size must be positive")
    check_indices(max(extents))
    if mode != "nearest":
        if call.integer("exclude_outside"):
            raise UnsupportedError("exclude_outside is not imported")
        between = _linear if mode == "linear" else _cubic
        pairs = zip(factors, extents, strict=True)
        return between(call, data, dict(zip(axes, pairs, strict=True)))
    for axis, factor, extent in zip(axes, factors, extents, strict=True):
        indices = _indices(call, shape[axis], extent, factor)
        if indices.tolist() != list(range(shape[axis])):
            data = _taken(data, indices, axis)
    return data


def _factors(
    scales: relax.Expr | None, sizes: relax.Expr | None, shape: list[int]
) -> tuple[list[Any], list[int]]:
    """Return the scale of each axis, float32, and its new size."""
    values = [*map(constant_of, (scales, sizes))]
    given = next((each for each in values if each is not None and each.size), None)
    if given is None or given.size != len(shape):
        raise UnsupportedError("its scales or sizes must be constant, one for each axis")
    if given is values[1]:
        extents = [int(each) for each in given]
        pairs = zip(extents, shape, strict=True)
        return [np.float32(np.float32(new) / np.float32(old)) for new, old in pairs], extents
    factors = [np.float32(each) for each in given]
    extents = [int(np.float32(old) * factor) for old, factor in zip(shape, factors, strict=True)]
    return factors, extents


def _indices(call: Call, size: int, extent: int, factor: Any) -> Array:
    """Return the old index along an axis from which each new one takes its value."""
    rounding = call.text("nearest_mode", "round_prefer_floor")
    if rounding not in _ROUNDINGS:
        raise UnsupportedError(f"nearest_mode {rounding!r} is not known")
    old = _coordinates(call, size, extent, factor)
    return np.clip(_ROUNDINGS[rounding](old), 0, size - 1).astype(np.int64)


def _coordinates(call: Call, size: int, extent: int, factor: Any) -> Array:
    """Return the position of each new pixel among the old ones, in float32."""
    mode = call.text("coordinate_transformation_mode", "half_pixel")
    new, half = np.arange(extent).astype(np.float32), np.float32(0.5)
    if factor == 1:
        return new
    if mode == "asymmetric":
        return np.asarray(new / factor)
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and extent > 1):
        return np.asarray((new + half) / factor - half)
    if mode == "pytorch_half_pixel" or (mode == "align_corners" and extent == 1):
        return np.zeros_like(new)
    if mode == "align_corners":
        return np.asarray(new * np.float32(size - 1) / np.float32(extent - 1))
    raise UnsupportedError(f"positions by {mode} are not imported")


def _linear(call: Call, data: Any, sizes: dict[int, tuple[Any, int]]) -> Any:
    """Return the sum of four neighbours times their shares, in ONNX Runtime's order.

    Args:
        call: the operator.
        data: images, channels first, or one image.
        sizes: the scale and the new size of axes.
    """
    axes, shape, sides = _axes(data, sizes), data.shape, []
    for axis in axes:
        factor, extent = sizes.get(axis, (np.float32(1), shape[axis]))
        old = _coordinates(call, shape[axis], extent, factor)
        sides.append(_neighbours(old, shape[axis]))
    (rows, tops), (columns, lefts) = sides
    total = None
    for row, down in zip(rows, tops, strict=True):
        line = _taken(data, row, axes[0])
        for column, right in zip(columns, lefts, strict=True):
            corner = _taken(line, column, axes[1])
            term = (right * down.reshape(-1, 1)) * corner
            total = term if total is None else total + term
    return total


def _axes(data: Any, sizes: dict[int, tuple[Any, int]]) -> list[int]:
    """Return the axes of images that are resized."""
    rank = data.ndim
    axes = [rank - 2, rank - 1]
    others = [axis for axis, (factor, _) in sizes.items() if factor != 1 and axis not in axes]
    if rank not in (2, 4) or others or data.dtype != "float32":
        # For bytes, the result depends on the layout that ONNX Runtime chooses for nearby
        # operators.
        raise UnsupportedError(
            "linear and cubic are imported for the last two axes of images of float32"
        )
    return axes


def _cubic(call: Call, data: Any, sizes: dict[int, tuple[Any, int]]) -> Any:
    """Resize along rows, then along columns; the arguments are those of ``_linear``."""
    shape = data.shape
    for axis in reversed(_axes(data, sizes)):
        factor, extent = sizes.get(axis, (np.float32(1), shape[axis]))
        if factor == 1 and extent == shape[axis]:
            continue
        old = _coordinates(call, shape[axis], extent, factor)
        data = _resize_cubic(data, axis, old, call.attributes.get("cubic_coeff_a", -0.75))
    return data


def _neighbours(old: Array, size: int) -> tuple[list[Array], list[Array]]:
    """Return the pixels before and after each position, and their shares."""
    old = np.clip(old, np.float32(0), np.float32(size - 1))
    low = np.minimum(old.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    after, before = (np.abs(old - each.astype(np.float32)) for each in (low, high))
    for share in (after, before):
        share[low == high] = np.float32(0.5)
    return [low, high], [before, after]
