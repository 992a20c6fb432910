"""Attributes of calls as plain Python values."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import tvm_ffi

from qnn_ops.errors import QnnError

_KEPT_ARRAYS = 512  # more than the lists of any network's channels


def plain(value: Any) -> Any:
    """Return the Python value of an attribute that TVM holds; arrays become tuples."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, tvm_ffi.Array):
        return _items(_ArrayKey(value))
    if isinstance(value, Sequence):
        return tuple(map(plain, value))
    raise QnnError(f"an attribute of type {type(value).__name__} is not one of this dialect")


class _ArrayKey:
    """A TVM array as a key that equals only itself: TVM's own equality takes 1 for True.

    Attributes:
        array: the array.
    """

    def __init__(self, array: Any) -> None:
        self.array = array

    def __hash__(self) -> int:
        return hash(self.array.__chandle__())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ArrayKey) and bool(self.array.same_as(other.array))


@lru_cache(maxsize=_KEPT_ARRAYS)
def _items(key: _ArrayKey) -> tuple[Any, ...]:
    # Reading an item calls TVM, and each pass reads the same lists of channels.
    return tuple(map(plain, key.array))
