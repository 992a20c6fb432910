"""PAD, PADV2, MIRROR_PAD, STABLEHLO_PAD, DILATE, REVERSE_V2, REVERSE_SEQUENCE, and diagonals."""

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.steps import reversed_steps
from frontends.tflite.converters.context import Context, Operand, per_tensor
from frontends.tflite.converters.scales import check_same_quantization
from frontends.tflite.model import DTYPES
from frontends.tflite.operators import MOVED, OPERATORS, Row, converter
from qnn_ops import quantized_pad
from qnn_ops.dialect.checks import check_axis
from qnn_ops.dialect.registry import TensorSpec, spec_of
from qnn_ops.errors import QnnError

_MOST_SIZE = 1 << 24  # of an axis: a table has an entry for each element
MOST_AXES = 8  # that LiteRT takes
_MOST_PADDED = 2**31 - 1
_MOST = 1 << 24  # elements of a matrix


def convert_pad(ctx: Context) -> relax.Expr:
    """Pad with zeros (the zero point) or with a given constant."""
    value = per_tensor(ctx.output())[1]
    if ctx.has(2):
        check_same_quantization(ctx.tensor(2), ctx.output())
        value = ctx.integer(2, (ctx.output().dtype,))
    data = ctx.input(0)
    return quantized_pad(data.expr, _widths(ctx, len(data.shape)), value)


def convert_float_pad(ctx: Context) -> relax.Expr:
    """Pad with zeros or with a given constant."""
    data, value = ctx.input(0), ctx.number(2) if ctx.has(2) else 0.0
    return R.nn.pad(data.expr, _widths(ctx, len(data.shape)), pad_value=value)


def convert_whole_pad(ctx: Context) -> relax.Expr:
    """Pad integers or bool with zeros or with a given constant."""
    data, dtype = ctx.input(0), ctx.output().dtype
    value = ctx.integer(2, (dtype,)) if ctx.has(2) else 0
    wide = "int8" if dtype == "bool" else dtype
    rank = len(data.shape)
    widths = np.reshape(_widths(ctx, rank), (rank, 2))
    if np.any(widths < 0):
        raise QnnError(f"paddings must not be negative, got {widths.tolist()}")
    result = R.astype(data.expr, wide)
    for axis, (before, after) in enumerate(widths.tolist()):
        parts = [result]
        for position, width in ((0, before), (2, after)):
            shape = list(spec_of(ctx.builder.typed(result)).shape)
            shape[axis] = width
            if width:
                full = ctx.emit(R.full(shape, relax.const(value, wide), wide))
                parts.insert(position, full)
        result = ctx.emit(R.concat(parts, axis)) if len(parts) > 1 else result
    return R.astype(result, dtype)


def _widths(
    ctx: Context, rank: int, dtypes: Sequence[str] = ("int32", "int64", "int16", "int8")
) -> list[int]:
    widths = ctx.constant(1)
    if widths.shape != (rank, 2):
        raise QnnError(f"paddings must have shape ({rank}, 2), got {widths.shape}")
    return list(ctx.integers(1, dtypes))


@converter("MIRROR_PAD", micro=MOVED)
def convert_mirror_pad(ctx: Context) -> relax.Expr:
    """Pad with the elements inside the edge; REFLECT leaves out the edge itself."""
    data = ctx.input(0)
    widths = _widths(ctx, len(data.shape), ("int32", "int64"))
    is_symmetric = ctx.options.mode == "SYMMETRIC"
    result = data.expr
    sides = zip(data.shape, widths[::2], widths[1::2], strict=True)
    for axis, (size, before, after) in enumerate(sides):
        if not 0 <= min(before, after) <= max(before, after) <= size - (not is_symmetric):
            raise QnnError(f"paddings {before} and {after} do not fit axis {axis} of {data.shape}")
        if before == after == 0:
            continue
        if size + before + after > _MOST_SIZE:
            raise QnnError(
                f"axis {axis} of {data.shape} with its paddings is longer than {_MOST_SIZE}"
            )
        numbers = np.arange(size, dtype=np.int32)
        indices = np.pad(numbers, (before, after), "symmetric" if is_symmetric else "reflect")
        result = ctx.emit(R.take(result, relax.const(indices), axis, "clip"))
    return result


@converter("REVERSE_V2", micro=MOVED)
def convert_reverse(ctx: Context) -> relax.Expr:
    """Reverse the order along axes."""
    data = ctx.input(0)
    axes = [check_axis(axis, len(data.shape)) for axis in ctx.integers(1)]
    if not axes or len(set(axes)) < len(axes):
        raise QnnError(f"must have axes, each once, got {axes}")
    result = data.expr
    for axis in axes:
        result = ctx.emit(R.flip(result, axis))
    return result


@converter("REVERSE_SEQUENCE")
def convert_reverse_sequence(ctx: Context) -> relax.Expr:
    """Reverse the first elements along an axis; each batch states their number."""
    data, lengths, options = ctx.input(0), ctx.input(1), ctx.options
    shape, along, batch = data.shape, options.seq_dim, options.batch_dim
    if data.dtype in ("int8", "bool") or lengths.dtype not in ("int32", "int64"):
        raise UnsupportedError(f"of {data.dtype}, by lengths of {lengths.dtype}")
    if along == batch or not all(0 <= axis < len(shape) for axis in (along, batch)):
        raise QnnError(f"axes {along} and {batch} of a tensor of shape {shape}")
    if lengths.shape != (shape[batch],):
        raise QnnError(f"{lengths.shape} lengths for {shape[batch]} batches")
    ctx.check_constant(1, [shape[along] + 1], f"lengths outside of 0 to {shape[along]}")
    count = np.minimum(ctx.array(1).astype(np.int32), shape[along])
    return reversed_steps(ctx.builder, data.expr, count, along, batch)


@converter("STABLEHLO_PAD", fills=True)
def convert_stablehlo_pad(ctx: Context) -> relax.Expr:
    """Put a value before, after and between elements; negative numbers leave elements out."""
    data, options = ctx.input(0), ctx.options
    dtype, shape = data.dtype, data.shape
    if not shape or dtype not in DTYPES:
        raise UnsupportedError(f"{data.label}, {dtype} of shape {shape}")
    filler, most = ctx.single(1, dtype), _MOST_PADDED
    least = {"edge_padding_low": -most, "edge_padding_high": -most, "interior_padding": 0}
    low, high, between = (
        check_axes(name, getattr(options, name), len(shape), each) for name, each in least.items()
    )
    return spread(ctx.builder, data.expr, filler, low, high, between)


def check_axes(name: str, values: Sequence[int], rank: int, least: int) -> tuple[int, ...]:
    """Return an option's numbers, one for each axis.

    Raises:
        QnnError: there are more or fewer, or a number is below ``least`` or too large.
    """
    if len(values) != rank or rank > MOST_AXES:
        raise QnnError(f"{name} must have a number for each of {rank} axes, got {tuple(values)}")
    if min(values) < least or max(values) > _MOST_PADDED:
        raise QnnError(f"{name} must be {least} to {_MOST_PADDED}, got {tuple(values)}")
    return tuple(values)


def spread(
    builder: ModuleBuilder,
    data: relax.Expr,
    filler: relax.Expr,
    low: Sequence[int],
    high: Sequence[int],
    between: Sequence[int],
    most: int = _MOST_SIZE,
) -> relax.Expr:
    """Put one value, a scalar, before, after and between the elements of each axis.

    If one axis would have no elements, no axis has any.

    Raises:
        QnnError: an axis would have more than ``most`` elements, or the result too many.
    """
    spec = spec_of(builder.typed(data))
    rank = len(spec.shape)
    steps = [each + 1 for each in between]
    sizes = [
        before + ((size - 1) * step + 1 if size else 0) + behind
        for before, size, step, behind in zip(low, spec.shape, steps, high, strict=True)
    ]
    if max(sizes) > most or prod(max(size, 0) for size in sizes) > _MOST_PADDED:
        raise QnnError(f"a result of shape {tuple(sizes)} is too large")
    if min(sizes) <= 0:
        return R.zeros([0] * rank, spec.dtype)  # as LiteRT's
    if 0 in spec.shape:
        return R.broadcast_to(filler, sizes)
    for axis, (before, size, step) in enumerate(zip(low, sizes, steps, strict=True)):
        indices = np.arange(size, dtype=np.int64) - before
        is_kept = (indices >= 0) & (indices % step == 0) & (indices // step < spec.shape[axis])
        if size == spec.shape[axis] and is_kept.all():
            continue
        nearest = np.clip(indices // step, 0, spec.shape[axis] - 1).astype(np.int32)
        taken = builder.emit(R.take(data, relax.const(nearest), axis, "clip"))
        flags = relax.const(is_kept.reshape(size, *[1] * (rank - axis - 1)))
        data = taken if is_kept.all() else builder.emit(R.where(flags, taken, filler))
    return data


@converter("DILATE")
def convert_dilate(ctx: Context) -> relax.Expr:
    """Put a value between neighbours along each axis, step - 1 times."""
    data, steps = ctx.input(0), ctx.integers(1)
    shape, dtype, filler = data.shape, data.dtype, ctx.single(2, data.dtype)
    if not shape or len(steps) != len(shape) or any(step < 1 for step in steps):
        raise QnnError(f"steps {steps} for a tensor of shape {shape}")
    sizes = tuple((size - 1) * step + 1 for size, step in zip(shape, steps, strict=True))
    if 0 in shape:
        # LiteRT's own kernel ends the process, or gives an axis a negative size.
        if 0 in shape[:-1] or steps[-1] > 1:
            raise UnsupportedError(f"{data.label} has no elements")
        return R.zeros([max(0, size) for size in sizes], dtype)
    ctx.check_size(TensorSpec(sizes, dtype))
    none = [0] * len(shape)
    between = [step - 1 for step in steps]
    return spread(ctx.builder, data.expr, filler, none, none, between, _MOST_PADDED)


@converter("MATRIX_DIAG")
def convert_matrix_diag(ctx: Context) -> relax.Expr:
    """Return matrices with the last axis as their diagonal, and zeros elsewhere."""
    data = ctx.input(0)
    _check_no_bool(data)
    if not data.shape:
        raise UnsupportedError(f"{data.label} of shape {data.shape}")
    size = data.shape[-1]
    filled = R.broadcast_to(R.expand_dims(data.expr, -1), (*data.shape, size))
    return R.where(_diagonal(size, size), filled, R.zeros((), data.dtype))


@converter("MATRIX_SET_DIAG")
def convert_matrix_set_diag(ctx: Context) -> relax.Expr:
    """Replace the diagonals of matrices."""
    data, diagonal = ctx.input(0), ctx.input(1)
    _check_no_bool(data)
    shape = data.shape
    fits = len(shape) > 1 and diagonal.shape == (*shape[:-2], min(shape[-2:]))
    if not fits or diagonal.dtype != data.dtype:
        raise QnnError(f"diagonals of {diagonal.shape} for matrices of {shape}")
    axis, rows = len(shape) - 2, relax.const(np.arange(shape[-2], dtype=np.int32))
    taken = ctx.emit(R.take(diagonal.expr, rows, axis, "clip"))
    is_diagonal = _diagonal(shape[-2], shape[-1])
    return R.where(is_diagonal, R.expand_dims(taken, -1), data.expr)


def _diagonal(rows: int, columns: int) -> relax.Expr:
    """Return a matrix that is true on its diagonal."""
    if rows * columns > _MOST:
        raise QnnError(f"a matrix of {rows} rows and {columns} columns is too large")
    return relax.const(np.eye(rows, columns, dtype=bool))


def _check_no_bool(data: Operand) -> None:
    if data.dtype == "bool":
        raise UnsupportedError("of bool, for which LiteRT's own kernel writes beyond the result")


OPERATORS["PAD"] = OPERATORS["PADV2"] = Row(
    scaled=convert_pad,
    floats=convert_float_pad,
    whole=convert_whole_pad,
    micro=MOVED,
    is_for_every_scale=True,
    fills=True,
)
