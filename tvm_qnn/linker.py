"""Finding a linker for exported libraries."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from qnn_ops.errors import QnnError

COMPILERS = ("cc", "gcc", "clang")


def find_linker(named: str | None = None) -> list[str]:
    """The command that links shared libraries on this machine.

    Args:
        named: a compiler's name or path to use instead of searching.

    Returns:
        The command's first words: a C compiler found on the path, or zig's where the package
        ``ziglang`` is installed.

    Raises:
        QnnError: if there is none; says what to install.
    """
    for name in (named,) if named else COMPILERS:
        if path := shutil.which(name):
            return [path]
    if named:
        raise QnnError(f"no linker {named!r} on the path")
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise QnnError(
        "exporting a library needs a linker, and none of cc, gcc and clang is on the path: "
        "install your system's C compiler (Debian, Ubuntu: apt install gcc), "
        "or 'pip install ziglang'"
    )


def shared_library_linker(command: Sequence[str]) -> Callable[..., None]:
    """A function in the form TVM's export takes: (output, objects, options) -> None."""

    def link(output: str, objects: Sequence[str], options: Sequence[str] | None = None) -> None:
        line = [*command, "-shared", "-fPIC", "-o", str(Path(output)), *objects, *(options or [])]
        try:
            result = subprocess.run(line, capture_output=True, text=True, check=False)
        except OSError as error:
            raise QnnError(f"cannot start the linker {command[0]}: {error.strerror}") from error
        if result.returncode:
            said = (result.stderr or result.stdout).strip()
            raise QnnError(f"linking with {' '.join(command)} failed: {said}")

    # What TVM asks a linker function: the suffix of the objects it takes.
    link.output_format = "so"  # type: ignore[attr-defined]
    return link
