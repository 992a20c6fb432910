"""Reads object files: the symbols that they need and define, and their sections."""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SYMBOLS = 2  # a section's type, SHT_SYMTAB
_GLOBAL = 1  # a symbol's binding, STB_GLOBAL
_LOADED = 2  # a section's flag, SHF_ALLOC


@dataclass(frozen=True)
class _Class:
    """The layout of ELF files of 32 or 64 bits."""

    header: str  # from byte 16 on; the offset of the sections is the fourth field
    section: str  # name, type, flags, address, offset, size, link, …
    symbol: str
    info: int  # index of a symbol's type and binding in it
    index: int  # index of a symbol's section in it


_CLASSES = {
    1: _Class("HHIIIIIHHHHHH", "IIIIIIIIII", "IIIBBH", 3, 5),
    2: _Class("HHIQQQIHHHHHH", "IIQQQQIIQQ", "IBBHQQ", 1, 3),
}
_ORDERS = {1: "<", 2: ">"}


def undefined_symbols(contents: bytes) -> list[str] | None:
    """Return what an object file needs from other files, sorted; None if it is not ELF."""
    if not _is_elf(contents):
        return None
    return sorted({name for name, _, section in _symbols(contents) if name and section == 0})


def offered_symbols(contents: bytes) -> list[str] | None:
    """Return what an object file defines for other files, sorted; None if it is not ELF."""
    if not _is_elf(contents):
        return None
    symbols = _symbols(contents)
    return sorted({name for name, binding, section in symbols if section and binding == _GLOBAL})


def loaded_sections(contents: bytes) -> dict[str, int] | None:
    """Return the bytes of the sections that a program loads, by name; None if it is not ELF."""
    if not _is_elf(contents):
        return None
    _, _, names, sections = _read(contents)
    sizes: Counter[str] = Counter()
    for name, _, flags, _, _, size, *_ in sections:
        if flags & _LOADED and size:
            sizes[_text(contents, sections[names][4] + name)] += size
    return dict(sizes)


def _is_elf(contents: bytes) -> bool:
    return contents[:4] == b"\x7fELF"


def _read(contents: bytes) -> tuple[_Class, str, int, list[tuple[Any, ...]]]:
    """Return class, byte order, the index of the section with names, and all sections."""
    form, order = _CLASSES[contents[4]], _ORDERS[contents[5]]
    header = struct.unpack_from(order + form.header, contents, 16)
    start, size, count, names = header[5], *header[10:]
    places = range(start, start + size * count, size)
    sections = [struct.unpack_from(order + form.section, contents, place) for place in places]
    return form, order, names, sections


def _symbols(contents: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield name, binding and section of each symbol."""
    form, order, _, sections = _read(contents)
    for section in sections:
        if section[1] != _SYMBOLS:
            continue
        offset, length = section[4:6]
        texts = sections[section[6]][4]
        for symbol in struct.iter_unpack(order + form.symbol, contents[offset : offset + length]):
            name = _text(contents, texts + symbol[0])
            yield name, symbol[form.info] >> 4, symbol[form.index]


def _text(contents: bytes, place: int) -> str:
    return contents[place : contents.index(b"\0", place)].decode()
