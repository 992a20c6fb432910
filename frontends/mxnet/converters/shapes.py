"""Operators that change only the shape or the order of axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from qnn_ops.checks import check_axis
from qnn_ops.errors import QnnError

_COPY, _INFER, _COPY_REST, _MERGE, _SPLIT = 0, -1, -2, -3, -4


def new_shape(
    shape: Sequence[int], codes: Sequence[int], *, is_reverse: bool = False
) -> tuple[int, ...]:
    """Return the shape that ``codes`` ask for.

    A positive code is a size. 0 copies a size of the old shape, -1 takes the remaining elements, -2
    copies all remaining sizes, -3 is the product of the next two, and -4 splits the next one into
    the two sizes that follow the code; one of them may be -1.

    Args:
        shape: the tensor's shape.
        codes: the attribute ``shape``.
        is_reverse: whether to read both from the last to the first; -4 then comes after its two
            sizes.

    Raises:
        QnnError: the codes do not fit the shape.
    """
    turn = -1 if is_reverse else 1
    try:
        sizes = _read(shape[::turn], codes[::turn])[::turn]
    except (StopIteration, IndexError):
        raise QnnError(f"shape {list(codes)} asks for more axes than {tuple(shape)} has") from None
    total, rest = prod(shape), prod(size for size in sizes if size != _INFER)
    count = sizes.count(_INFER)
    if count > 1 or min(sizes, default=1) < _INFER or (count and (not rest or total % rest)):
        raise QnnError(f"shape {list(codes)} does not fit a tensor of shape {tuple(shape)}")
    result = tuple(total // rest if size == _INFER else size for size in sizes)
    if prod(result) != total:
        raise QnnError(f"shape {list(codes)} does not fit a tensor of shape {tuple(shape)}")
    return result


def _read(shape: Sequence[int], codes: Sequence[int]) -> list[int]:
    sizes: list[int] = []
    left = iter(codes)
    read = 0
    for code in left:
        if code == _COPY:
            sizes.append(shape[read])
            read += 1
        elif code == _COPY_REST:
            sizes.extend(shape[read:])
            read = len(shape)
        elif code == _MERGE:
            sizes.append(shape[read] * shape[read + 1])
            read += 2
        elif code == _SPLIT:
            sizes.extend(_split(shape[read], next(left), next(left)))
            read += 1
        else:
            sizes.append(code)
            read += 1
    return sizes


def _split(whole: int, first: int, second: int) -> tuple[int, int]:
    if first == _INFER and second > 0:
        first = whole // second
    elif second == _INFER and first > 0:
        second = whole // first
    if first < 1 or second < 1 or first * second != whole:
        raise QnnError(f"a size of {whole} cannot be split into {first} and {second}")
    return first, second


@converter("Flatten", "flatten")
def convert_flatten(ctx: Context) -> relax.Expr:
    """Make one row of each item of the batch."""
    shape = ctx.shape(0)
    return R.reshape(ctx.expr(0), (*shape[:1], prod(shape[1:])))


@converter("Reshape", "reshape")
def convert_reshape(ctx: Context) -> relax.Expr:
    """Return the shape that the attribute's codes say; before 0.9, a target shape."""
    attrs = ctx.attrs
    codes = attrs.integers("shape", ())
    if codes:
        return R.reshape(
            ctx.expr(0), new_shape(ctx.shape(0), codes, is_reverse=attrs.flag("reverse", False))
        )
    target = attrs.integers("target_shape")
    if attrs.flag("keep_highest", False):
        target = (*ctx.shape(0)[:1], *target[1:])
    inferred = [-1 if size == 0 else size for size in target]
    return R.reshape(ctx.expr(0), new_shape(ctx.shape(0), inferred))


@converter("reshape_like")
def convert_reshape_like(ctx: Context) -> relax.Expr:
    """Return the shape of the second input."""
    if any(ctx.attrs.has(name) for name in ("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")):
        raise QnnError("only whole shapes are supported")
    return R.reshape(ctx.expr(0), new_shape(ctx.shape(0), ctx.shape(1)))


@converter("transpose")
def convert_transpose(ctx: Context) -> relax.Expr:
    """Transpose to the given order of axes; without one, reverse it."""
    rank = len(ctx.shape(0))
    axes = ctx.attrs.integers("axes", ()) or tuple(reversed(range(rank)))
    axes = tuple(check_axis(axis, rank) for axis in axes)
    if sorted(axes) != list(range(rank)):
        raise QnnError(f"attribute axes must name each of {rank} axes once, got {list(axes)}")
    return R.permute_dims(ctx.expr(0), axes)


@converter("SwapAxis", "swapaxes")
def convert_swap_axis(ctx: Context) -> relax.Expr:
    """Exchange two axes."""
    axes = list(range(len(ctx.shape(0))))
    first, second = (check_axis(ctx.attrs.integer(name, 0), len(axes)) for name in ("dim1", "dim2"))
    axes[first], axes[second] = axes[second], axes[first]
    return R.permute_dims(ctx.expr(0), axes)


@converter("expand_dims")
def convert_expand_dims(ctx: Context) -> relax.Expr:
    """Insert an axis of size 1."""
    shape = list(ctx.shape(0))
    shape.insert(check_axis(ctx.attrs.integer("axis"), len(shape) + 1), 1)
    return R.reshape(ctx.expr(0), shape)


@converter("squeeze")
def convert_squeeze(ctx: Context) -> relax.Expr:
    """Drop the given axes of size 1, or all."""
    shape = ctx.shape(0)
    axes = {check_axis(axis, len(shape)) for axis in ctx.attrs.integers("axis", ())}
    if any(shape[axis] != 1 for axis in axes):
        raise QnnError(f"attribute axis must name axes of size 1, got {sorted(axes)} of {shape}")
    if not ctx.attrs.has("axis"):
        axes = {axis for axis, size in enumerate(shape) if size == 1}
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    # MXNet 1.x has no scalars.
    return R.reshape(ctx.expr(0), kept or [1])
