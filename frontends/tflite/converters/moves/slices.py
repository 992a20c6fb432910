"""CONCATENATION, PACK, UNPACK, SPLIT, SPLIT_V, SLICE, STRIDED_SLICE and DYNAMIC_UPDATE_SLICE."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.ranges import OpenRange, clamped, count_of, index_range, split
from frontends.tflite.converters.activations import activate, check_clamps
from frontends.tflite.converters.context import Context, Operand, per_tensor, reshaped
from frontends.tflite.converters.scales import check_same_quantization, check_symmetric
from frontends.tflite.model import Tensor
from frontends.tflite.operators import MOVED, OPERATORS, Row, converter
from frontends.tflite.options.base import Options
from qnn_ops import quantized_concat
from qnn_ops.dialect.checks import check_axis
from qnn_ops.dialect.sizes import as_extent, is_open
from qnn_ops.errors import QnnError

_PLACES = ("int32", "int64")


def convert_concatenation(ctx: Context) -> relax.Expr:
    """Rescale uint8 inputs with their own scale; for int8 these are an error, as in LiteRT.

    LiteRT ignores the scales of int16 tensors.
    """
    axis, operands, result = _joined_axis(ctx), ctx.inputs(), ctx.output()
    if result.dtype == "int8":
        for operand in operands:
            check_same_quantization(operand.tensor, result)
    encodings = [operand.quantization for operand in operands]
    if result.dtype == "int16":
        check_symmetric(*(operand.tensor for operand in operands), result)
        encodings = [per_tensor(result)] * len(operands)
    scales, points = zip(*encodings, strict=True)
    parts = [operand.expr for operand in operands]
    return quantized_concat(parts, scales, points, *per_tensor(result), result.dtype, axis=axis)


def _joined_axis(ctx: Context) -> int:
    """Return the axis of a concatenation; raise if it has an activation, too."""
    options = ctx.options
    if options.activation != "NONE":
        raise UnsupportedError(f"fused activation {options.activation}")
    return options.axis


def convert_unscaled_concatenation(ctx: Context) -> relax.Expr:
    """Join uint8 tensors, some without a scale. LiteRT reads a missing scale as 0.

    An input without a scale becomes the result's zero point. Values rescaled to a result without a
    scale are NaN, and become 0.
    """
    axis, result = _joined_axis(ctx), ctx.output()
    if result.dtype != "uint8":
        raise QnnError("some tensors state a scale and zero point, and others do not")
    is_target = result.quantization is not None
    target = per_tensor(result) if is_target else (1.0, 0)
    filler = relax.const(target[1], "uint8")
    parts, encodings = [], []
    for operand in ctx.inputs():
        is_scaled = operand.tensor.quantization is not None
        is_kept = is_scaled == is_target
        encodings.append(operand.quantization if is_kept and is_scaled else target)
        parts.append(operand.expr if is_kept else ctx.emit(R.full(operand.shape, filler, "uint8")))
    scales, points = zip(*encodings, strict=True)
    return quantized_concat(parts, scales, points, *target, "uint8", axis=axis)


def convert_plain_concatenation(ctx: Context) -> relax.Expr:
    """Join tensors of one type without scales; only float32 may have an activation."""
    options, dtype = ctx.options, ctx.output().dtype
    operands, is_bent = ctx.inputs(), options.activation != "NONE" and dtype != "float32"
    if any(operand.dtype != dtype for operand in operands) or is_bent:
        raise UnsupportedError(f"from {[operand.dtype for operand in operands]} to {dtype}")
    check_clamps(options.activation)
    joined = R.concat([operand.expr for operand in operands], options.axis)
    return activate(options.activation, joined)


@converter("PACK", micro=MOVED)
def convert_pack(ctx: Context) -> relax.Expr:
    """Join tensors of one shape and encoding along a new axis."""
    shape, operands = ctx.input(0).shape, ctx.inputs()
    for operand in operands:
        _check_alike(operand.tensor, ctx.output())
        if operand.shape != shape:
            raise QnnError(f"{operand.label} is of shape {operand.shape}, not {shape}")
    axis = check_axis(ctx.options.axis, len(shape) + 1)
    longer = [*shape[:axis], 1, *shape[axis:]]
    parts = [ctx.emit(reshaped(operand.expr, longer)) for operand in operands]
    return R.concat(parts, axis) if len(parts) > 1 else parts[0]


@converter("UNPACK", micro=MOVED)
def convert_unpack(ctx: Context) -> list[relax.Expr]:
    """Split a tensor into parts of size 1 along an axis, and remove the axis."""
    options, data = ctx.options, ctx.input(0)
    axis = check_axis(options.axis, len(data.shape))
    if options.num != data.shape[axis]:
        raise QnnError(f"unpacks {options.num} along axis {axis} of shape {data.shape}")
    for position in range(len(ctx.operator.outputs)):
        _check_alike(data.tensor, ctx.output(position))
    shape = [*data.shape[:axis], *data.shape[axis + 1 :]]
    parts = split(ctx.builder, data.expr, [1] * options.num, axis) if options.num else []
    return [reshaped(part, shape) for part in parts]


def _check_alike(data: Tensor, result: Tensor) -> None:
    """Raise unless the integers of both mean the same, as LiteRT requires."""
    encodings = [
        None if each is None else (each.scale[0], each.zero_point[0])
        for each in (data.quantization, result.quantization)
    ]
    if encodings[0] != encodings[1]:
        raise QnnError(f"{data.label} and {result.label} must have the same scale and zero point")


@converter("SPLIT", micro=MOVED)
def convert_split(ctx: Context) -> list[relax.Expr]:
    """Split into parts of equal size; the axis is the first input."""
    count, data = ctx.options.num_splits, ctx.input(1)
    axis = check_axis(ctx.integer(0), len(data.shape))
    if data.shape[axis] % count:
        raise QnnError(f"cannot split {data.shape[axis]} along axis {axis} into {count}")
    return _parts(ctx, data, [data.shape[axis] // count] * count, axis)


@converter("SPLIT_V", micro=MOVED)
def convert_split_v(ctx: Context) -> list[relax.Expr]:
    """Split into given sizes along the third input's axis; -1 means the rest."""
    data, given = ctx.input(0), ctx.integers(1, ("int32", "int64"))
    axis = check_axis(ctx.integer(2), len(data.shape))
    size, sizes = data.shape[axis], [*given]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = size - sum(part for part in sizes if part != -1)
    if any(part < 0 for part in sizes) or sum(sizes) != size:
        raise QnnError(f"cannot split {size} along axis {axis} into {sizes}")
    return _parts(ctx, data, sizes, axis)


def _parts(ctx: Context, data: Operand, sizes: list[int], axis: int) -> list[relax.Expr]:
    if len(sizes) != len(ctx.operator.outputs):
        raise QnnError(f"splits into {len(sizes)}, has {len(ctx.operator.outputs)} outputs")
    # TVM's own split has no parts without elements.
    some = [size for size in sizes if size]
    parts = iter(split(ctx.builder, data.expr, some, axis) if some else ())
    dtype, shape = data.dtype, data.shape
    nothing = R.zeros([*shape[:axis], 0, *shape[axis + 1 :]], dtype)
    return [next(parts) if size else nothing for size in sizes]


@converter("SLICE", micro=MOVED, unpacks=("int4",))
def convert_slice(ctx: Context) -> relax.Expr:
    """Slice from constant beginnings, with the given sizes; -1 means the rest."""
    data, ranges = ctx.input(0), []
    begins, sizes = (ctx.integers(position, ("int32", "int64")) for position in (1, 2))
    if not len(begins) == len(sizes) == len(data.shape):
        raise QnnError(f"begin {begins} and size {sizes} do not fit shape {data.shape}")
    for begin, size, extent in zip(begins, sizes, data.shape, strict=True):
        end = extent if size == -1 else begin + size
        if not 0 <= begin <= end <= extent:
            raise QnnError(f"elements {begin} to {end} are outside a dimension of {extent}")
        ranges.append(index_range(begin, end))
    return _take(ctx, data, ranges)


@converter("STRIDED_SLICE", micro=MOVED)
def convert_strided_slice(ctx: Context) -> relax.Expr:
    """Return a Python slice with constant bounds; masks may open bounds, drop and insert axes."""
    data = ctx.input(0)
    begins, ends, steps = (ctx.integers(position) for position in (1, 2, 3))
    if not len(begins) == len(ends) == len(steps):
        raise QnnError(f"begin {begins}, end {ends} and strides {steps} differ in length")
    ranges, shape = sliced_axes(data.shape, begins, ends, steps, ctx.options)
    return reshaped(ctx.emit(_take(ctx, data, ranges)), shape)


def _take(ctx: Context, data: Operand, ranges: Sequence[range | OpenRange]) -> relax.Expr:
    """Return the elements of the data at the given indices of each axis."""
    counts = [count_of(part) for part in ranges]
    axes = [axis for axis, part in enumerate(ranges) if part != index_range(0, data.shape[axis])]
    if not axes:
        return data.expr
    if is_open(counts) or is_open(data.shape[axis] for axis in axes):
        return _taken(ctx, data, {axis: ranges[axis] for axis in axes})
    bounds = [(ranges[axis].start, ranges[axis].stop, ranges[axis].step) for axis in axes]
    starts, ends, steps = (list(each) for each in zip(*bounds, strict=True))
    # Relax counts negative bounds from the end: one before the first is -extent - 1.
    ends = [e if e >= 0 else e - data.shape[axis] for e, axis in zip(ends, axes, strict=True)]
    return R.strided_slice(data.expr, axes, starts, ends, steps)


def _taken(ctx: Context, data: Operand, ranges: Mapping[int, range | OpenRange]) -> relax.Expr:
    """Return the elements at indices by axis, if a slice of TVM's cannot prove its shape."""
    expr = data.expr
    for axis, part in ranges.items():
        ends = (as_extent(end) for end in (part.start, part.stop, part.step))
        indices = ctx.emit(R.arange(*ends, "int64"))
        expr = ctx.emit(R.take(expr, indices, axis, "clip"))
    return expr


@converter("DYNAMIC_UPDATE_SLICE", micro=MOVED, unpacks=("int4",), fills=True)
def convert_dynamic_update_slice(ctx: Context) -> relax.Expr:
    """Write a tensor into a larger one, at an index that is moved inside."""
    data, part, begins = ctx.inputs(3)
    rank = len(data.shape)
    if part.dtype != data.dtype or begins.dtype not in _PLACES:
        dtypes = [part.dtype, begins.dtype]
        raise UnsupportedError(f"{dtypes} into {data.dtype}")
    if begins.shape != (rank,) or len(part.shape) != rank:
        raise QnnError(f"{part.shape} at {begins.shape} indices is no part of {data.shape}")
    if any(size > whole for size, whole in zip(part.shape, data.shape, strict=True)):
        raise QnnError(f"a part of shape {part.shape} does not fit into {data.shape}")
    if 0 in part.shape:
        return data.expr
    wide, is_inside = ctx.builder.array(begins.expr).astype(np.int64), None
    moved = part.expr
    for axis, (size, whole) in enumerate(zip(part.shape, data.shape, strict=True)):
        if size == whole:
            continue
        indices = np.arange(whole) - np.clip(wide[axis : axis + 1], 0, whole - size)
        near: Any = np.clip(indices, 0, size - 1)
        moved = ctx.emit(R.take(moved, near.expr, axis, "clip"))
        row = (indices == near).reshape(whole, *[1] * (rank - axis - 1))
        is_inside = row if is_inside is None else is_inside & row
    return moved if is_inside is None else R.where(is_inside.expr, moved, data.expr)


def sliced_axes(
    shape: Sequence[int],
    begins: Sequence[int],
    ends: Sequence[int],
    steps: Sequence[int],
    options: Options,
) -> tuple[list[range | OpenRange], list[int]]:
    """Return the indices that are taken along each axis of the data, and the shape of the result.

    Source: BuildStridedSliceParams of TFLite's kernels/strided_slice.cc, StartForAxis and
    EndForAxis of kernels/internal/reference/strided_slice.h. An entry is an index into begin, end
    and strides; the masks' bits count entries. Axes are those of the data and the new ones among
    them.

    Args:
        shape: of the data.
        begins: an entry for each axis, in order, unless masks say otherwise.
        ends: the same.
        steps: the same.
        options: the masks.

    Raises:
        QnnError: LiteRT refuses them, or reads beyond its arrays, or leaves the result unwritten.
    """
    inserted = options.new_axis_mask & ~options.ellipsis_mask & ((1 << len(begins)) - 1)
    kinds = list(_kinds(len(shape), len(begins), inserted.bit_count(), options))
    if kinds.count("new") != inserted.bit_count():
        raise QnnError(
            f"masks name {kinds.count('new')} axes to insert, {inserted.bit_count()} of them "
            f"among the {len(begins)} entries"
        )
    sizes, ranges, result = iter(shape), list[range | OpenRange](), []
    for kind in kinds:
        if kind == "new":
            result.append(1)
            continue
        if kind == "whole":
            ranges.append(index_range(0, next(sizes)))
        elif isinstance(kind, int) and 0 <= kind < len(begins):
            bounds = (begins[kind], ends[kind], steps[kind])
            ranges.append(_cut(next(sizes), bounds, 1 << kind, options))
            if options.shrink_axis_mask >> kind & 1:
                continue
        else:
            raise QnnError(f"masks name an entry {kind}, there are {len(begins)}")
        result.append(count_of(ranges[-1]))
    return ranges, result


def _kinds(rank: int, entries: int, inserted: int, options: Options) -> Iterator[int | str]:
    """Yield the kind of each axis: "new", "whole", or the number of its entry."""
    count = rank + inserted
    # The axes that ellipses stand for; only the last ellipsis moves the entries after it.
    kinds: list[str] = [""] * count
    start, extra, axis = count, 0, 0
    while axis < count:
        if options.ellipsis_mask >> axis & 1:
            end = max(axis + 1, min(axis + 1 + count - entries, count))
            start, extra = axis, end - axis - 1
            kinds[axis:end] = ["whole"] * (end - axis)
            axis = end
            continue
        if options.new_axis_mask >> (axis - extra) & 1:
            kinds[axis] = "new"
        axis += 1
    passed = 0
    for axis, kind in enumerate(kinds):
        if kind == "whole":
            passed = max(0, axis - start)
        if kind:
            yield kind
        else:
            yield "whole" if axis >= entries + extra else axis - passed


def _cut(size: int, bounds: tuple[int, int, int], bit: int, options: Options) -> range | OpenRange:
    begin, end, step = bounds
    if step in (0, -(2**31)):
        raise QnnError(f"strides must not be {step}")
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    first = clamped(begin, size, lowest, highest)
    if options.begin_mask & bit:
        first = 0 if step > 0 else size - 1
    if options.shrink_axis_mask & bit:
        if step < 0 or first >= size:
            raise QnnError(f"element {begin} by steps of {step} is outside a dimension of {size}")
        return index_range(first, first + 1)
    if options.offset:
        # LiteRT writes beyond the result if a mask opens its end.
        if step < 0 or end < 0 or first + end > size or options.end_mask & bit:
            raise QnnError(f"{end} elements from {first} on by steps of {step} are not in {size}")
        return index_range(first, first + end, step)
    last = clamped(end, size, lowest, highest)
    if options.end_mask & bit:
        last = size if step > 0 else -1
    return index_range(first, last, step)


OPERATORS["CONCATENATION"] = Row(
    scaled=convert_concatenation,
    floats=convert_plain_concatenation,
    whole=convert_plain_concatenation,
    unscaled=convert_unscaled_concatenation,
    micro=MOVED,
    unpacks=("int4",),
    is_for_every_scale=True,
    fills=True,
)
