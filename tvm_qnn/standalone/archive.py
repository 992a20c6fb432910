"""A static library of one object file, as linkers take it by -l."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_HEADER = 60  # bytes before a member


def archive(contents: bytes, symbols: Sequence[str]) -> bytes:
    """Return a library in the format of GNU's ar: an index of symbols, then the file.

    Args:
        contents: of the object file.
        symbols: the names that it has for others.
    """
    names = b"".join(name.encode() + b"\0" for name in symbols)
    length = 4 + 4 * len(symbols) + len(names)
    place = len(_MAGIC) + _HEADER + length + length % 2
    numbers = struct.pack(f">{1 + len(symbols)}I", len(symbols), *[place] * len(symbols))
    return _MAGIC + _member("/", numbers + names) + _member("model.o/", contents)


def _member(name: str, contents: bytes) -> bytes:
    header = f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{len(contents):<10}`\n"
    return header.encode() + contents + b"\n" * (len(contents) % 2)
