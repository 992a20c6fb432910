"""Code and constants of a model in one object file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tvm

from tvm_qnn.target import objects

# Each byte as LLVM's assembly writes it in a string.
_ESCAPED = np.array([list(b"\\%02X" % byte) for byte in range(256)], np.uint8)


def write_object(path: Path, code: str, symbol: str, constants: bytes, alignment: int) -> None:
    """Write an object file.

    Args:
        path: of the file.
        code: a module as LLVM's text.
        symbol: the name of the constants in C.
        constants: read-only data; empty for none.
        alignment: of the data in bytes.
    """
    text = _ESCAPED[np.frombuffer(constants, np.uint8)].tobytes().decode()
    definition = (
        f'@{symbol} = hidden constant [{len(constants)} x i8] c"{text}", align {alignment}\n'
    )
    # A module for the constants alone would be an object file of its own.
    source = path.with_suffix(".ll")
    source.write_text(f"{code}\n{definition}")
    linked = tvm.runtime.load_module(str(source))
    source.unlink()
    objects.write_object(linked, path)
