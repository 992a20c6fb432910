"""Attributes of calls as plain Python values."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import tvm_ffi

from qnn_ops.errors import QnnError

_PLAIN = frozenset((bool, int, float, str, type(None)))
_KEPT_ARRAYS = 512  # more than the lists of any network's channels


def plain(value: Any) -> Any:
    """Return the Python value of an attribute; arrays become tuples, and dtypes their names."""
    if type(value) in _PLAIN:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, tvm_ffi.Array):
        return _items(Same(value))
    if isinstance(value, Sequence):
        items = tuple(value)
        return items if _PLAIN.issuperset(map(type, items)) else tuple(map(plain, items))
    raise QnnError(f"an attribute of type {type(value).__name__} is not one of this dialect")


class Same:
    """A key that equals only a key of the same object of TVM: TVM's own equality takes 1 for True.

    Attributes:
        of: the object.
        known: what a reader would find in it, if that is known.
    """

    def __init__(self, of: Any, known: Any = None) -> None:
        """Take an object, which lives as long as the key."""
        self.of, self.known = of, known

    def __hash__(self) -> int:
        """Return a hash of the object's address."""
        return hash(self.of.__chandle__())

    def __eq__(self, other: object) -> bool:
        """Tell whether the objects are the same."""
        return isinstance(other, Same) and bool(self.of.same_as(other.of))


@lru_cache(maxsize=_KEPT_ARRAYS)
def _items(key: Same) -> tuple[Any, ...]:
    # Reading an item calls TVM, and each pass reads the same lists of channels.
    return tuple(map(plain, key.of))
