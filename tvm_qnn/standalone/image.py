"""Writes a model's code and constants as one object file, or as a static library of it."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tvm

from tvm_qnn.target import objects

_MAGIC = b"!<arch>\n"
_HEADER = 60  # bytes before a member's contents


def archive(contents: bytes, symbols: Sequence[str]) -> bytes:
    """Return a library in the format of GNU's ar: an index of symbols, then the object file.

    Args:
        contents: the contents of the object file.
        symbols: the names that it defines for other files.
    """
    names = b"".join(name.encode() + b"\0" for name in symbols)
    length = 4 + 4 * len(symbols) + len(names)
    place = len(_MAGIC) + _HEADER + length + length % 2
    numbers = struct.pack(f">{1 + len(symbols)}I", len(symbols), *[place] * len(symbols))
    return _MAGIC + _member("/", numbers + names) + _member("model.o/", contents)


def _member(name: str, contents: bytes) -> bytes:
    header = f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{len(contents):<10}`\n"
    return header.encode() + contents + b"\n" * (len(contents) % 2)


# Each byte as a character of a string in LLVM's assembly.
_ESCAPED = np.array([list(b"\\%02X" % byte) for byte in range(256)], np.uint8)


def write_object(path: Path, code: str, symbol: str, constants: bytes, alignment: int) -> None:
    """Write an object file.

    Args:
        path: the file to write.
        code: a module as LLVM's text.
        symbol: the name of the constants in C.
        constants: read-only data; empty for none.
        alignment: the alignment of the data in bytes.
    """
    text = _ESCAPED[np.frombuffer(constants, np.uint8)].tobytes().decode()
    definition = (
        f'@{symbol} = hidden constant [{len(constants)} x i8] c"{text}", align {alignment}\n'
    )
    # A module with the constants alone would become a second object file.
    source = path.with_suffix(".ll")
    source.write_text(f"{code}\n{definition}")
    linked = tvm.runtime.load_module(str(source))
    source.unlink()
    path.write_bytes(objects.object_of(linked))
