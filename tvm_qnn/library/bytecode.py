"""Checks the bytecode of TVM's virtual machine before it runs.

TVM's machine trusts its bytecode. It does not check the numbers of registers, constants, functions
and instructions, and kernels treat every argument as a tensor. The format is that of
``src/runtime/vm/executable.cc`` of TVM 0.27.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from qnn_ops.errors import QnnError

_MAGIC, _VERSION = 0xD225DE2F4214151E, b"0.14"

_CALL, _RETURN, _GOTO, _IF = 1, 2, 3, 4
_SIZES = {_CALL: 4, _RETURN: 2, _GOTO: 2, _IF: 3}  # in words; a call's arguments follow

_REGISTER, _IMMEDIATE, _CONSTANT, _FUNCTION = range(4)
_VOID, _MACHINE = 1 << 54, (1 << 54) + 1  # they stand in place of a register

_BYTECODE = 1  # the kind of functions of bytecode; others are kernels, or belong to the runtime
_BUILTIN = "vm.builtin."
_OF_MACHINE = {_BUILTIN + "alloc_storage", _BUILTIN + "invoke_closure"}
"""Functions that treat their first argument as the machine, whatever it is."""
_NO_TENSOR = {_BUILTIN + "null_value", _BUILTIN + "alloc_storage"}
"""Functions with results that kernels cannot take."""

# TVM FFI's numbers of types, and the bytes that follow each.
_FIXED = {0: 0, 1: 8, 2: 8, 3: 8, 5: 4}
_BYTES, _SHAPE, _TENSOR = (65, 66), 69, 70


@dataclass(frozen=True)
class _Function:
    kind: int
    name: str
    start: int
    end: int
    arguments: int
    registers: int


def check_bytecode(code: bytes, constants: int) -> None:
    """Check that bytecode uses only things that exist.

    Args:
        code: a serialized executable.
        constants: the number of main's parameters after the model's inputs.

    Raises:
        QnnError: if it is not the bytecode of such a model.
    """
    try:
        _check(_Reader(code), constants)
    except (struct.error, UnicodeDecodeError, MemoryError) as error:
        raise _wrong("it is cut short") from error


def _check(reader: _Reader, constants: int) -> None:
    if reader.number() != _MAGIC or reader.text() != _VERSION:
        raise _wrong("it is of another version of TVM")
    functions = [_function(reader) for _ in range(reader.count())]
    for _ in range(reader.count()):  # memory scopes of constants: not used on processors
        reader.number()
        reader.text()
    kinds = [_constant(reader) for _ in range(reader.count())]
    offsets, words = reader.numbers(), reader.numbers()
    if reader.left:
        raise _wrong("something follows it")
    if len({each.name for each in functions}) != len(functions):
        raise _wrong("two functions have one name")
    instructions = _instructions(offsets, words)
    main = [each for each in functions if each.name == "main" and each.kind == _BYTECODE]
    if not main or main[0].arguments < constants:
        raise _wrong("it has no function main that takes the constants")
    for each in functions:
        if each.kind == _BYTECODE:
            _check_function(each, instructions, functions, kinds)


def _instructions(offsets: Sequence[int], words: Sequence[int]) -> list[Sequence[int]]:
    """Return the words of each instruction."""
    found = []
    place = 0
    for number, offset in enumerate(offsets):
        size = _SIZES.get(words[place]) if offset == place < len(words) else None
        if size == _SIZES[_CALL] and place + size <= len(words):
            size = size + words[place + 3] if words[place + 3] >= 0 else None
        if size is None or place + size > len(words):
            raise _wrong(f"instruction {number} is none")
        found.append(words[place : place + size])
        place += size
    if place != len(words):
        raise _wrong("something follows the instructions")
    return found


def _check_function(
    function: _Function,
    instructions: Sequence[Sequence[int]],
    functions: Sequence[_Function],
    constants: Sequence[int],
) -> None:
    """Check a function's instructions in order, with the kinds of values in its registers."""
    start, end = function.start, function.end
    if not 0 <= start < end <= len(instructions):
        raise _wrong(f"function {function.name!r} has instructions that there are not")
    if not function.arguments <= function.registers <= function.arguments + end - start:
        raise _wrong(f"function {function.name!r} has too few registers, or more than it can use")
    held = set(range(function.arguments))
    tensors = set(held)
    for number in range(start, end):
        operation, *fields = instructions[number]
        fits = True
        if operation == _CALL:
            target, called, _, *arguments = fields
            if not 0 <= called < len(functions):
                raise _wrong(f"instruction {number} calls a function that there is not")
            name = functions[called].name
            is_builtin = name.startswith(_BUILTIN)
            registers = held | {_VOID, _MACHINE} if is_builtin else tensors
            sizes = {_REGISTER: registers, _CONSTANT: range(len(constants))}
            sizes |= {_FUNCTION: range(len(functions))} if is_builtin else {}
            fits = all(_is_argument(word, sizes) for word in arguments)
            fits = fits and (target == _VOID or 0 <= target < function.registers)
            fits = fits and (name not in _OF_MACHINE or arguments[:1] == [_MACHINE])
            if target != _VOID:
                held.add(target)
                (tensors.discard if name in _NO_TENSOR else tensors.add)(target)
        elif operation == _RETURN:
            fits = fields[0] in held
        else:
            fits = start <= number + fields[-1] < end and (operation == _GOTO or fields[0] in held)
        if not fits:
            raise _wrong(f"instruction {number} uses what there is not")
    if instructions[end - 1][0] not in (_RETURN, _GOTO):
        raise _wrong(f"function {function.name!r} does not return")


def _is_argument(word: int, there: Mapping[int, Container[int]]) -> bool:
    kind = word >> 56 & 0xFF
    return kind == _IMMEDIATE or (kind in there and _signed(word) in there[kind])


def _signed(word: int) -> int:
    """Return the lower 56 bits as a signed number."""
    value = word & (1 << 56) - 1
    return value - (1 << 56) if value >> 55 else value


def _function(reader: _Reader) -> _Function:
    (kind,) = reader.take("<i")
    name = reader.text().decode()
    start, end, arguments, registers = reader.take("<4q")
    names = [reader.text() for _ in range(reader.count())]
    if kind == _BYTECODE and len(names) != arguments:
        raise _wrong(f"function {name!r} has {arguments} parameters with {len(names)} names")
    return _Function(kind, name, start, end, arguments, registers)


def _constant(reader: _Reader) -> int:
    """Read the next constant, and return its type."""
    (kind,) = reader.take("<i")
    if kind in _FIXED:
        reader.skip(_FIXED[kind])
    elif kind in _BYTES:
        reader.text()
    elif kind == _SHAPE:
        _check_shape(reader.numbers())
    elif kind == _TENSOR:
        _, _, _, _, rank, _, bits, lanes = reader.take("<QQiiiBBH")
        shape = reader.take(f"<{max(rank, 0)}q")
        _check_shape(shape)
        size = reader.count()
        if rank < 0 or size != math.prod(shape) * ((bits * lanes + 7) // 8):
            raise _wrong("it has a tensor of another size than its shape's")
        reader.skip(size)
    else:
        raise _wrong(f"it has a constant of type {kind}")
    return kind


def _check_shape(shape: Sequence[int]) -> None:
    if any(extent < 0 for extent in shape):
        raise _wrong("it has a shape of a negative size")


class _Reader:
    """Reads numbers and texts of a serialized executable in order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(form, self._data, self._place)
        self._place += struct.calcsize(form)
        return values

    def number(self) -> int:
        return self.take("<Q")[0]

    @property
    def left(self) -> int:
        return len(self._data) - self._place

    def count(self) -> int:
        """Read the number of items that follow; each takes a byte or more."""
        count = self.number()
        if count > self.left:
            raise _wrong("it is cut short")
        return count

    def numbers(self) -> tuple[int, ...]:
        return self.take(f"<{self.count()}q")

    def text(self) -> bytes:
        return bytes(self.skip(self.count()))

    def skip(self, size: int) -> bytes:
        start, self._place = self._place, self._place + size
        if self._place > len(self._data):
            raise _wrong("it is cut short")
        return self._data[start : self._place]


def _wrong(what: str) -> QnnError:
    return QnnError(f"its bytecode cannot be understood: {what}")
