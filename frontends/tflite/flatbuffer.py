"""Checked access to flatbuffers tables: a malformed file gives an error, never a hang."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from flatbuffers import encode, packer
from flatbuffers import number_types as types
from flatbuffers.number_types import Int32Flags
from flatbuffers.table import Table as RawTable

from frontends.errors import ModelFormatError

RUNTIME_ERRORS = (struct.error, IndexError, ValueError, OverflowError, TypeError)
"""The errors of the flatbuffers runtime and of numpy on wild offsets and lengths."""

# Tables may share vectors, but only within limits: in a malformed file thousands of tables could
# point at one vector as long as the file, and reading would never end.
_SHARING = 4

# The bytes of a table without fields: reading gives the schema's defaults.
_EMPTY_TABLE = struct.pack("<HHi", 4, 4, 4)
_OFFSET = 4  # bytes


class Budget:
    """The number of bytes of vectors and strings that may still be read from one file."""

    def __init__(self, file_size: int) -> None:
        self.file_size = file_size
        self.left = _SHARING * file_size

    def spend(self, count: int, item_size: int, where: str, field: str) -> None:
        """Subtract a vector's bytes from the budget; raise if the vector cannot be in the file."""
        size = count * item_size
        if size > self.file_size:
            raise ModelFormatError(
                f"{where}: {field} has {count} elements, "
                f"more than a file of {self.file_size} bytes can hold"
            )
        self.left -= size
        if self.left < 0:
            raise ModelFormatError(f"{where}: {field}: the file's vectors overlap")


class _Checked:
    def __init__(self, accessor: Any, where: str, budget: Budget) -> None:
        self._accessor, self.where, self._budget = accessor, where, budget

    def error(self, reason: str) -> ModelFormatError:
        """Return an error that names the table."""
        return ModelFormatError(f"{self.where}: {reason}")

    @contextmanager
    def _reading(self, field: str) -> Iterator[None]:
        try:
            yield
        except ModelFormatError:
            raise
        except RUNTIME_ERRORS as error:
            reason = f"cannot read {field}, the file is truncated or damaged ({error})"
            raise self.error(reason) from error


class Table(_Checked):
    """A generated flatbuffers accessor with every read checked.

    Args:
        accessor: the accessor object of the `tflite` package.
        where: the table's name in error messages ("tensor 3 'conv/weights'").
        budget: shared by all tables of a file.
    """

    @classmethod
    def root(cls, accessor_type: Any, data: memoryview, where: str) -> Table:
        """Return the root table of a file."""
        table = cls(None, where, Budget(len(data)))
        with table._reading("the root table"):
            table._accessor = accessor_type.GetRootAs(data, 0)
        return table

    @classmethod
    def empty(cls, accessor_type: Any, where: str) -> Table:
        """Return a table whose fields all have the schema's default values."""
        accessor = accessor_type()
        accessor.Init(_EMPTY_TABLE, 4)
        return cls(accessor, where, Budget(len(_EMPTY_TABLE)))

    def scalar(self, field: str) -> Any:
        """Return a number or bool."""
        with self._reading(field):
            return getattr(self._accessor, field)()

    def int32_at(self, slot: int, field: str) -> int:
        """Read the int32 in a slot of the table without the accessor's own method; 0 if absent."""
        with self._reading(field):
            offset = self._accessor._tab.Offset(4 + 2 * slot)
            if offset == 0:
                return 0
            position = self._accessor._tab.Pos + offset
            return int(self._accessor._tab.Get(Int32Flags, position))

    def number(self, field: str) -> Any:
        """Return a number or bool; a float must be finite."""
        value = self.scalar(field)
        if not np.isfinite(value):
            raise self.error(f"{field} is {value}, needs a finite number")
        return value

    def positive(self, *fields: str) -> tuple[int, ...]:
        """Read integers that must be above zero."""
        values = tuple(int(self.scalar(field)) for field in fields)
        for field, value in zip(fields, values, strict=True):
            if value <= 0:
                raise self.error(f"{field} is {value}, needs at least 1")
        return values

    def enum(self, field: str, names: dict[int, str]) -> str:
        """Return the name of an enumeration's value."""
        value = int(self.scalar(field))
        if value not in names:
            known = ", ".join(names.values())
            raise self.error(f"{field} is {value}, not one of {known}")
        return names[value]

    def string(self, field: str) -> str:
        """Return a string; empty if absent, bytes that are not UTF-8 written as escapes."""
        with self._reading(field):
            raw = getattr(self._accessor, field)() or b""
            self._budget.spend(len(raw), 1, self.where, field)
            return bytes(raw).decode("utf-8", errors="backslashreplace")

    def length(self, field: str, item_size: int) -> int:
        """Return a vector's length, checked against the size of the file."""
        with self._reading(field):
            count = int(getattr(self._accessor, f"{field}Length")())
            self._budget.spend(count, item_size, self.where, field)
            return count

    def vector(self, field: str, dtype: str) -> np.ndarray:
        """Return a vector of numbers as a view into the file; empty if absent."""
        if self.length(field, np.dtype(dtype).itemsize) == 0:
            return np.empty(0, dtype)
        with self._reading(field):
            values: np.ndarray = getattr(self._accessor, f"{field}AsNumpy")()
            return values

    def integers(self, field: str) -> tuple[int, ...]:
        """Return a vector of int32 as a tuple; empty if absent."""
        return tuple(self.vector(field, "int32").tolist())

    def is_absent(self, field: str) -> bool:
        """Tell whether the file leaves out this vector."""
        with self._reading(field):
            return bool(getattr(self._accessor, f"{field}IsNone")())

    def table(self, field: str, where: str) -> Table | None:
        """Return a table that this one points at; None if absent."""
        with self._reading(field):
            accessor = getattr(self._accessor, field)()
        return None if accessor is None else Table(accessor, where, self._budget)

    def union(self, field: str, accessor_type: Any, where: str) -> Table | None:
        """Return a union's table, to be read as `accessor_type`; None if absent."""
        with self._reading(field):
            raw = getattr(self._accessor, field)()
            if raw is None:
                return None
            accessor = accessor_type()
            accessor.Init(raw.Bytes, raw.Pos)
        return Table(accessor, where, self._budget)

    def tables(self, field: str, label: str) -> Sequence[Table]:
        """Return a vector of tables; messages name each one by `label` and its number."""
        tables = []
        for index in range(self.length(field, 4)):
            with self._reading(f"{label} {index}"):
                accessor = getattr(self._accessor, field)(index)
            tables.append(Table(accessor, f"{label} {index}", self._budget))
        return tables


class Slots(_Checked):
    """A table of a schema that gives each field a slot, with every read checked.

    Absent numbers are 0, absent strings and vectors are empty.

    Args:
        accessor: the table of the flatbuffers runtime.
        where: its name in error messages.
        budget: shared by all tables of a file.
    """

    @classmethod
    def root(cls, data: memoryview, where: str) -> Slots:
        """Return the root table of a file."""
        slots = cls(RawTable(data, 0), where, Budget(len(data)))
        with slots._reading("the root table"):
            slots._accessor.Pos = encode.Get(packer.uoffset, data, 0)
        return slots

    def uint8(self, slot: int) -> int:
        """Return a number of one byte."""
        return int(self._number(slot, types.Uint8Flags))

    def float32(self, slot: int) -> float:
        """Return a float."""
        return float(self._number(slot, types.Float32Flags))

    def _number(self, slot: int, flags: Any) -> Any:
        with self._reading(f"field {slot}"):
            offset = self._place(slot)
            return self._accessor.Get(flags, self._accessor.Pos + offset) if offset else 0

    def string(self, slot: int) -> str:
        """Return a string; bytes that are not UTF-8 are written as escapes."""
        with self._reading(f"field {slot}"):
            start, count = self._vector(slot, 1)
            raw = bytes(self._accessor.Bytes[start : start + count])
        return raw.decode("utf-8", errors="backslashreplace")

    def floats(self, slot: int) -> tuple[float, ...]:
        """Return a vector of float32."""
        with self._reading(f"field {slot}"):
            start, count = self._vector(slot, 4)
            return tuple(np.frombuffer(self._accessor.Bytes, "<f4", count, start).tolist())

    def table(self, slot: int) -> Slots | None:
        """Return a table that this one points at; None if absent."""
        with self._reading(f"field {slot}"):
            offset = self._place(slot)
            if not offset:
                return None
            return self._at(self._accessor.Indirect(self._accessor.Pos + offset))

    def tables(self, slot: int) -> list[Slots]:
        """Return a vector of tables."""
        with self._reading(f"field {slot}"):
            start, count = self._vector(slot, _OFFSET)
            return [self._at(self._accessor.Indirect(start + _OFFSET * i)) for i in range(count)]

    def _at(self, position: int) -> Slots:
        return Slots(RawTable(self._accessor.Bytes, position), self.where, self._budget)

    def _place(self, slot: int) -> int:
        """Return the position of a field in the table; 0 if it is absent."""
        return int(self._accessor.Offset(4 + 2 * slot))

    def _vector(self, slot: int, size: int) -> tuple[int, int]:
        """Return the position of a vector's first element, and the number of elements."""
        offset = self._place(slot)
        if not offset:
            return 0, 0
        count = int(self._accessor.VectorLen(offset))
        self._budget.spend(count, size, self.where, f"field {slot}")
        return int(self._accessor.Vector(offset)), count
