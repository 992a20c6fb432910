"""Writes a model's code and constants as one object file, or as a static library of it.

LLVM's text of the code is changed for small machines and their linkers.
"""

import re
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


# TVM's second name for the first function, which repeats all of its code.
_ENTRY = re.compile(r"^define [^\n]*@__tvm_ffi_main\(.*?^}\n", re.MULTILINE | re.DOTALL)

_DEFINITION = re.compile(
    r"^(define [^\n]*@([\w.$]+)\([^\n]*?)((?: section [^\n]*)?)((?: ![^\n]*)?) \{$", re.MULTILINE
)

# Other formats than ELF have other names of sections.
_NO_ELF = re.compile(r"apple|darwin|macos|windows|wasm")

# TVM aligns a function's own buffers to 16 bytes. If the stack is aligned to 8, such a function
# has to align the stack, and needs a register to find its arguments.
_ALIGNED = re.compile(r"\balign 16\b")
_M_PROFILE = re.compile(r"thumb")


def lean(code: str, target: tvm.target.Target) -> str:
    """Return code in which each function has a section of its own, and no table for unwinding.

    Functions for Cortex-M do not align the stack further.

    Args:
        code: a module as LLVM's text.
        target: the target.
    """
    triple = str(target.attrs.get("mtriple", ""))
    has_sections = not _NO_ELF.search(triple)

    def change(found: re.Match[str]) -> str:
        head, name, section, rest = found.groups()
        if has_sections and not section:
            section = f' section ".text.{name}"'
        return f"{head} nounwind{section}{rest} {{"

    text = _DEFINITION.sub(change, _ENTRY.sub("", code))
    return _ALIGNED.sub("align 8", text) if _M_PROFILE.match(triple) else text
