"""Operators that move data unchanged, some of them to stated sizes, which may be open."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.bounds import check_indices
from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, Converter, converter, formula
from frontends.onnx.graph.open_shapes import RULES, ends_of_range, length_of, sizes_of, slices_of
from frontends.onnx.read.constants import array_of
from frontends.ranges import of_sizes
from frontends.steps import reversed_steps
from qnn_ops.dialect.registry import as_const, constant_of, spec_of
from qnn_ops.dialect.sizes import as_extent
from qnn_ops.modules import Rules


@converter("Shape")
def _shape(call: Call, data: relax.Expr) -> relax.Expr:
    """Return a constant: all shapes are known here, even if the package onnx did not infer them."""
    shape = spec_of(data).shape[call.attributes.get("start", 0) : call.attributes.get("end")]
    return relax.const(np.array(shape, np.int64), "int64")


@converter("Pad")
def _pad(call: Call, data: relax.Expr, given: Any, fill: Any, axes: Any) -> relax.Expr:
    shape = spec_of(data).shape
    widths = _widths(call.attributes.get("pads") if given is None else given, axes, len(shape))
    for axis, (before, after) in enumerate(widths):  # negative widths cut off
        if min(before, after) < 0:
            begin, end = max(-before, 0), shape[axis] - max(-after, 0)
            data = call.emit(R.strided_slice(data, [axis], [begin], [end]))
    widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    mode = call.text("mode", "constant")
    if mode == "constant":
        known = np.zeros(1) if fill is None else call.known(fill)
        if known is None or known.size != 1:
            raise UnsupportedError("its value must be constant")
        value = call.attributes.get("value", float(known.item()))
        return R.nn.pad(data, [side for pair in widths for side in pair], "constant", value)
    if mode not in ("reflect", "edge", "wrap"):
        raise UnsupportedError(f"mode {mode!r} is not known")
    for axis, pair in enumerate(widths):
        if any(pair):
            size = spec_of(data).shape[axis]
            if mode == "reflect" and max(pair) >= size:
                raise UnsupportedError("it reflects more than there is")
            check_indices(size + sum(pair))
            indices = np.pad(np.arange(size), pair, mode=mode)  # type: ignore[call-overload]
            data = call.emit(R.take(data, relax.const(indices, "int64"), axis, mode="clip"))
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


@formula("ReverseSequence")
def _reverse_sequence(call: Call, data: Any, lengths: Any) -> relax.Expr:
    """Reverse the first steps along an axis; each row of the batch has its own number of steps."""
    shape = data.shape
    batch, along = call.integer("batch_axis", 1), call.integer("time_axis")
    if {batch, along} != {0, 1} or len(shape) < 2 or lengths.shape != (shape[batch],):
        raise UnsupportedError(f"axes {batch} and {along} of {shape}, lengths of {lengths.shape}")
    known = constant_of(lengths.expr)
    if known is not None and not 0 <= known.min(initial=0) <= known.max(initial=0) <= shape[along]:
        raise UnsupportedError(f"lengths beyond the {shape[along]} steps that there are")
    count = np.clip(lengths.astype(np.int64), 0, shape[along]).astype(np.int32)
    return reversed_steps(ModuleBuilder(block=call.builder), data.expr, count, along, batch)


_ORDERS = {"DCR": [0, 3, 5, 1, 2, 4], "CRD": [0, 1, 3, 5, 2, 4]}
"""The order of axes by mode: a block's rows and columns before the channels, or behind them."""
_IMAGE = 4
"""The number of axes of images."""


@formula("SpaceToDepth")
def _space_to_depth(call: Call, data: Any) -> Any:
    """Turn the pixels of blocks into channels, in images whose channels are first."""
    shape, size, mode = data.shape, call.integer("blocksize"), call.text("mode", "DCR")
    if len(shape) != _IMAGE or size < 1 or shape[2] % size or shape[3] % size:
        raise UnsupportedError(f"blocks of {size} in data of shape {list(shape)}")
    if mode not in _ORDERS:
        raise UnsupportedError(f"mode {mode!r} is not known")
    batch, channels, rows, columns = shape[0], shape[1], shape[2] // size, shape[3] // size
    blocks = data.reshape(batch, channels, rows, size, columns, size)
    return np.transpose(blocks, _ORDERS[mode]).reshape(batch, channels * size * size, rows, columns)


OPEN = Rules[str, Converter]()
"""By the name of the operator, for tensors of open sizes."""


def _shapes(call: Call) -> list[Any]:
    return [None if each is None else spec_of(each).shape for each in call.given]


def _result_shape(call: Call) -> list[Any]:
    return list(map(as_extent, RULES[call.op](_shapes(call), call.values, call.attributes)))


@converter("Expand")
def _expand(call: Call, data: relax.Expr) -> relax.Expr:
    return R.broadcast_to(data, _result_shape(call))


@converter("Flatten", "Reshape", table=OPEN)
def _reshape(call: Call, data: relax.Expr) -> relax.Expr:
    return R.reshape(data, _result_shape(call))


@converter("ConstantOfShape", table=OPEN)
def _constant_of_shape(call: Call) -> Any:
    given = call.attributes.get("value")
    value = np.zeros(1, np.float32) if given is None else array_of(given)
    fill = as_const(value.reshape(()))
    return R.broadcast_to(fill, _result_shape(call))


@converter("Range", table=OPEN)
def _range(call: Call) -> Any:
    begin, end, step = ends_of_range(call.values)
    steps = R.arange(0, as_extent(length_of(begin, end, step)), 1, "int64")
    scaled = R.multiply(call.emit(steps), relax.const(step, "int64"))
    first = of_sizes(call.builder, np.array([begin], object))
    return R.add(call.emit(scaled), first)


@converter("Slice", table=OPEN)
def _slice(call: Call, data: relax.Expr) -> relax.Expr:
    found = slices_of(_shapes(call), call.values, call.attributes)
    columns = ([as_extent(each) for each in column] for column in zip(*found.values(), strict=True))
    return R.strided_slice(data, [*found], *columns, assume_inbound=True)


@converter("Tile")
def _tile(call: Call, data: relax.Expr) -> relax.Expr:
    return R.tile(data, list(map(as_extent, sizes_of(call.values[1]))))
