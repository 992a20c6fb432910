"""The symbols that an object file needs of other libraries."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_SYMBOLS = 2  # the type of a section, SHT_SYMTAB


@dataclass(frozen=True)
class _Class:
    """The layout of ELF files of 32 or 64 bits."""

    header: str  # from byte 16 on, the place of the sections fourth
    section: str  # name, type, flags, address, offset, size, link, …
    symbol: str
    index: int  # of a symbol's section in it


_CLASSES = {
    1: _Class("HHIIIIIHHHHHH", "IIIIIIIIII", "IIIBBH", 5),
    2: _Class("HHIQQQIHHHHHH", "IIQQQQIIQQ", "IBBHQQ", 3),
}
_ORDERS = {1: "<", 2: ">"}


def undefined_symbols(contents: bytes) -> list[str] | None:
    """Return the names of the symbols that an object file takes from elsewhere, in order.

    Args:
        contents: of the file.

    Returns:
        The names; None if the file is not in the format ELF.
    """
    if contents[:4] != b"\x7fELF":
        return None
    form, order = _CLASSES[contents[4]], _ORDERS[contents[5]]
    header = struct.unpack_from(order + form.header, contents, 16)
    start, size, count = header[5], header[10], header[11]
    sections = [
        struct.unpack_from(order + form.section, contents, start + i * size) for i in range(count)
    ]
    names = set()
    for section in sections:
        if section[1] != _SYMBOLS:
            continue
        offset, length = section[4:6]
        texts = sections[section[6]][4]
        symbols = struct.iter_unpack(order + form.symbol, contents[offset : offset + length])
        for symbol in symbols:
            place = texts + symbol[0]
            name = contents[place : contents.index(b"\0", place)].decode()
            if name and symbol[form.index] == 0:
                names.add(name)
    return sorted(names)
