"""Keeps the values that were used last, such as a model's libraries by their inputs' shapes."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

MOST = 8
"""The most values that are kept. The least recently used one makes room."""


class Last(Generic[Key, Value]):
    """At most ``MOST`` values by keys; threads may share them."""

    def __init__(self) -> None:
        """Begin without values."""
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, key: Key) -> Value:
        with self._lock:
            self._kept.move_to_end(key)
            return self._kept[key]

    def __setitem__(self, key: Key, value: Value) -> None:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys, from the least to the most recently used."""
        with self._lock:
            return iter(list(self._kept))

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, and count this as a use; None if there is none."""
        try:
            return self[key]
        except KeyError:
            return None
