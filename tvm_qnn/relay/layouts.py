"""Layouts as Relay wrote them: a letter for each axis; "NCHW4c" has channels in blocks of 4."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay.expr import spec, typed


def layout_transform(data: relax.Expr, src_layout: str, dst_layout: str) -> relax.Expr:
    """Return a tensor whose axes stand in another order, or in other blocks.

    Args:
        data: any dtype.
        src_layout: of the data, such as "NCHW".
        dst_layout: of the result, such as "NCHW4c".

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
    """Return the letters of a layout, in their order, with the sizes that it states."""
    found = re.findall(r"(\d*)([A-Za-z])", layout)
    sizes = {letter: int(size or 1) for size, letter in found}
    is_whole = "".join(size + letter for size, letter in found) == layout
    if not is_whole or len(sizes) != len(found) or {*map(str.upper, sizes)} - {*sizes}:
        raise QnnError(f"layout_transform: {layout!r} is no layout")
    return sizes


def _split(letters: Sequence[str], layout: dict[str, int]) -> list[str]:
    """Return each letter, and behind it that of its blocks if the layout has them."""
    pairs = ((letter, letter.lower()) for letter in letters)
    return [each for pair in pairs for each in pair if each in layout]


def _ordered(data: relax.Expr, have: list[str], want: list[str]) -> relax.Expr:
    if have == want:
        return data
    return typed(relax.op.permute_dims(data, [have.index(letter) for letter in want]))


def _reshaped(data: relax.Expr, shape: list[int]) -> relax.Expr:
    given = list(spec("layout_transform: data", data).shape)
    return data if given == shape else typed(relax.op.reshape(data, shape))
