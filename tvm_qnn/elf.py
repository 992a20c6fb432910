"""A look at a shared library before the system's loader maps it."""

from __future__ import annotations

import struct
from pathlib import Path

from qnn_ops.errors import QnnError

_HEADER = struct.Struct("<40xQ10xHHH")  # of 64-bit ELF: where its table of sections is


def check_complete(path: Path) -> None:
    """Check that an ELF file was not cut short.

    The loader maps such a file all the same, and the process dies when it reads a page beyond
    its end. A linker writes the table of sections last, so a whole file reaches its end.

    Raises:
        QnnError: if the file is a 64-bit ELF file without its end. Other files pass: the loader
            rejects what it does not know.
    """
    with path.open("rb") as stream:
        header = stream.read(_HEADER.size)
    if header[:6] != b"\x7fELF\x02\x01" or len(header) < _HEADER.size:
        return
    offset, size, count, _ = _HEADER.unpack(header)
    if path.stat().st_size < offset + size * count:
        raise QnnError("the file is cut short")
