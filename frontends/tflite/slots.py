"""Checked access to flatbuffers tables by the numbers of their fields, where no accessors exist."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from flatbuffers import encode, packer
from flatbuffers import number_types as types
from flatbuffers.table import Table as RawTable

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import RUNTIME_ERRORS, Budget

_OFFSET = 4  # bytes


class Slots:
    """A table of which the schema gives each field a slot; every read is checked.

    Absent numbers are 0, absent strings and vectors are empty.
    """

    def __init__(self, raw: RawTable, where: str, budget: Budget) -> None:
        """Wrap a table.

        Args:
            raw: the table.
            where: what it is, for error messages.
            budget: shared by all tables of a file.
        """
        self._raw = raw
        self._where = where
        self._budget = budget

    @classmethod
    def root(cls, data: memoryview, where: str) -> Slots:
        """Return the root table of a file."""
        slots = cls(RawTable(data, 0), where, Budget(len(data)))
        with slots._reading():
            slots._raw.Pos = encode.Get(packer.uoffset, data, 0)
        return slots

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except RUNTIME_ERRORS as error:
            if isinstance(error, ModelFormatError):
                raise
            raise ModelFormatError(f"{self._where} is truncated or damaged ({error})") from error

    def uint8(self, slot: int) -> int:
        """Return a number of one byte."""
        return int(self._number(slot, types.Uint8Flags))

    def float32(self, slot: int) -> float:
        """Return a float."""
        return float(self._number(slot, types.Float32Flags))

    def _number(self, slot: int, flags: Any) -> Any:
        with self._reading():
            place = self._place(slot)
            return self._raw.Get(flags, self._raw.Pos + place) if place else 0

    def string(self, slot: int) -> str:
        """Return a string; bytes that are not UTF-8 are written as escapes."""
        with self._reading():
            start, count = self._vector(slot, 1)
            raw = bytes(self._raw.Bytes[start : start + count])
        return raw.decode("utf-8", errors="backslashreplace")

    def floats(self, slot: int) -> tuple[float, ...]:
        """Return a vector of float32."""
        with self._reading():
            start, count = self._vector(slot, 4)
            return tuple(np.frombuffer(self._raw.Bytes, "<f4", count, start).tolist())

    def table(self, slot: int) -> Slots | None:
        """Return a table that this one points at; None if absent."""
        with self._reading():
            place = self._place(slot)
            if not place:
                return None
            return self._at(self._raw.Indirect(self._raw.Pos + place))

    def tables(self, slot: int) -> list[Slots]:
        """Return a vector of tables."""
        with self._reading():
            start, count = self._vector(slot, _OFFSET)
            return [self._at(self._raw.Indirect(start + _OFFSET * i)) for i in range(count)]

    def _at(self, position: int) -> Slots:
        return Slots(RawTable(self._raw.Bytes, position), self._where, self._budget)

    def _place(self, slot: int) -> int:
        """Return where a field stands in the table; 0 if it is absent."""
        return int(self._raw.Offset(4 + 2 * slot))

    def _vector(self, slot: int, size: int) -> tuple[int, int]:
        """Return where a vector's elements begin, and how many there are."""
        place = self._place(slot)
        if not place:
            return 0, 0
        count = int(self._raw.VectorLen(place))
        self._budget.spend(count, size, self._where, f"field {slot}")
        return int(self._raw.Vector(place)), count
