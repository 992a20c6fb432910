"""Relay's operators that select, order, count or arrange elements; ``relay.op`` offers them.

A layout has a letter for each axis; "NCHW4c" has channels in blocks of 4.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay.expr import clip, const, number, operator, spec, typed


@operator
def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> relax.Expr:
    """Return the numbers from ``start`` (default 0) to below ``stop``; all must be known."""
    given = [0, start] if stop is None else [start, stop]
    ends = [number("arange", each) for each in (*given, 1 if step is None else step)]
    return const(np.arange(*ends).astype(dtype))


@operator
def gather(data: relax.Expr, axis: int, indices: relax.Expr) -> relax.Call:
    """Take one element along an axis for each index; an index out of range is clamped."""
    shape = spec("gather: data", data).shape
    inside = clip(indices, 0, shape[axis] - 1)
    return relax.op.gather_elements(data, inside, axis % len(shape))


@operator
def one_hot(
    indices: relax.Expr, on_value: Any, off_value: Any, depth: Any, axis: int, dtype: str
) -> relax.Call:
    """Return ``on_value`` at each index along a new axis, and ``off_value`` elsewhere.

    Args:
        indices: integers; an index out of range has no ``on_value``.
        on_value: a number or a constant.
        off_value: a number or a constant.
        depth: the new axis's size, a number or a constant.
        axis: the new axis; -1 for the last.
        dtype: the result's dtype.
    """
    of_indices = spec("one_hot: indices", indices)
    rank, count = len(of_indices.shape) + 1, int(number("one_hot: depth", depth))
    shape = [count if each == axis % rank else 1 for each in range(rank)]
    places = const(np.arange(count).reshape(shape).astype(of_indices.dtype))
    is_on = typed(relax.op.equal(typed(relax.op.expand_dims(indices, axis)), places))
    values = [np.asarray(number("one_hot", each), dtype) for each in (on_value, off_value)]
    return relax.op.where(is_on, *map(const, values))


@operator
def sort(data: relax.Expr, axis: int = -1, is_ascend: int = 1) -> relax.Call:
    """Sort the values along an axis."""
    return relax.op.sort(data, axis, not is_ascend)


@operator
def argsort(
    data: relax.Expr, axis: int = -1, is_ascend: int = 1, dtype: str = "int32"
) -> relax.Call:
    """Return the indices that sort the values along an axis."""
    return relax.op.argsort(data, axis, not is_ascend, dtype)


@operator
def cumsum(
    data: relax.Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool = False
) -> relax.Call:
    """Return cumulative sums along an axis, or of the flattened data.

    With ``exclusive``, an element's sum does not contain the element itself.
    """
    return relax.op.cumsum(data, axis, dtype, bool(exclusive))


@operator
def strided_slice(
    data: relax.Expr,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
) -> relax.Call:
    """Take a slice of some axes, by default of the first ones.

    Args:
        data: any shape and dtype.
        begin: the first index in each axis.
        end: the index after the last one; with ``slice_mode`` "size" the number, where -1 takes
            all.
        strides: default 1.
        axes: the sliced axes; default: the first ones.
        slice_mode: "end" or "size".
    """
    shape = spec("strided_slice: data", data).shape
    chosen = list(range(len(begin))) if axes is None else list(axes)
    if slice_mode == "size":
        sizes = zip(begin, end, chosen, strict=True)
        end = [shape[axis] if size < 0 else start + size for start, size, axis in sizes]
    return relax.op.strided_slice(data, chosen, list(begin), list(end), strides)


@operator
def take(
    data: relax.Expr, indices: relax.Expr, axis: int | None = None, mode: str = "clip"
) -> relax.Call:
    """Take elements along an axis, or of the flattened data.

    ``mode`` decides about an index out of range: it takes the nearest element ("clip"), counts from
    the other end ("wrap"), or gives NaN ("nan"). Relay's "fast" read any memory; here it clips.
    """
    mode = "clip" if mode == "fast" else mode
    flat = typed(relax.op.reshape(data, (-1,))) if axis is None else data
    return relax.op.take(flat, indices, axis or 0, mode)


@operator
def topk(
    data: relax.Expr,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> relax.Call:
    """Return the largest values along an axis, their indices, or a tuple of both.

    Args:
        data: any shape and dtype.
        k: how many; 0 for all.
        axis: the axis of the search.
        ret_type: "both", "values" or "indices".
        is_ascend: whether the smallest values are returned.
        dtype: the dtype of the indices.
    """
    size = spec("topk: data", data).shape[axis]
    return relax.op.topk(data, k if k > 0 else size, axis, ret_type, not is_ascend, dtype)


@operator
def layout_transform(data: relax.Expr, src_layout: str, dst_layout: str) -> relax.Expr:
    """Return a tensor with its axes in another order, or in other blocks.

    Args:
        data: any dtype.
        src_layout: the data's layout, such as "NCHW".
        dst_layout: the result's layout, such as "NCHW4c".

    Raises:
        QnnError: if the layouts do not fit the data or each other.
    """
    name = "layout_transform"
    have, want = _blocks(src_layout), _blocks(dst_layout)
    shape = spec(f"{name}: data", data).shape
    letters = [letter for letter in want if letter.isupper()]
    sizes = dict(zip(have, shape, strict=False))
    is_same = {*letters} == {each for each in have if each.isupper()}
    blocks = {letter: size for letter, size in have.items() if letter.islower()}
    if len(shape) != len(have) or not is_same or not blocks.items() <= sizes.items():
        raise QnnError(f"{name}: {src_layout!r} to {dst_layout!r} does not fit the shape {shape}")
    if src_layout == dst_layout:
        return data
    whole = {letter: sizes[letter] * sizes.get(letter.lower(), 1) for letter in letters}
    for letter in letters:
        if whole[letter] % want.get(letter.lower(), 1):
            raise QnnError(f"{name}: {whole[letter]} of {letter} make no blocks of {dst_layout!r}")
    plain = _reshaped(_ordered(data, [*have], _split(letters, have)), [*whole.values()])
    sizes = {letter: whole[letter] // want.get(letter.lower(), 1) for letter in letters} | {
        letter: size for letter, size in want.items() if letter.islower()
    }
    split = _split(letters, want)
    return _ordered(_reshaped(plain, [sizes[letter] for letter in split]), split, [*want])


def _blocks(layout: str) -> dict[str, int]:
    """Return the letters of a layout in order, with the sizes that it states."""
    found = re.findall(r"(\d*)([A-Za-z])", layout)
    sizes = {letter: int(size or 1) for size, letter in found}
    is_whole = "".join(size + letter for size, letter in found) == layout
    if not is_whole or len(sizes) != len(found) or {*map(str.upper, sizes)} - {*sizes}:
        raise QnnError(f"layout_transform: {layout!r} is no layout")
    return sizes


def _split(letters: Sequence[str], layout: dict[str, int]) -> list[str]:
    """Return each letter, followed by the letter of its blocks if the layout has blocks."""
    pairs = ((letter, letter.lower()) for letter in letters)
    return [each for pair in pairs for each in pair if each in layout]


def _ordered(data: relax.Expr, have: list[str], want: list[str]) -> relax.Expr:
    if have == want:
        return data
    return typed(relax.op.permute_dims(data, [have.index(letter) for letter in want]))


def _reshaped(data: relax.Expr, shape: list[int]) -> relax.Expr:
    given = list(spec("layout_transform: data", data).shape)
    return data if given == shape else typed(relax.op.reshape(data, shape))
