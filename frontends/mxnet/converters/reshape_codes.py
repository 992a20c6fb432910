"""The codes in the shape argument of MXNet's Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from qnn_ops.errors import QnnError

_COPY, _INFER, _COPY_REST, _MERGE, _SPLIT = 0, -1, -2, -3, -4


def new_shape(
    shape: Sequence[int], codes: Sequence[int], *, is_reverse: bool = False
) -> tuple[int, ...]:
    """Return the shape that ``codes`` ask for.

    A positive code is a size. 0 copies a size of the old shape, -1 is what is left over, -2
    copies all that remain, -3 is the product of the next two, and -4 splits the next one into
    the two sizes that follow it, of which one may be -1.

    Args:
        shape: of the tensor.
        codes: the attribute ``shape``.
        is_reverse: whether to read both from the last to the first; -4 then comes behind its
            two sizes.

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
