"""Finding a linker for exported libraries, for this machine or another one."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.processor import parts, this_platform

COMPILERS = ("cc", "gcc", "clang")

CROSS = {
    ("aarch64", "linux"): "aarch64-linux-gnu",
    ("arm", "linux"): "arm-linux-gnueabihf",
    ("x86_64", "linux"): "x86_64-linux-gnu",
}
"""What the names of the tools for another platform begin with, and clang and zig call it."""


def find_linker(named: str | None = None, platform: str | None = None) -> list[str]:
    """The command that links shared libraries.

    Args:
        named: a compiler's name or path to use instead of searching.
        platform: what the libraries are for, as in "aarch64-linux-gnu"; default: this machine.

    Returns:
        The command's first words: for this machine a C compiler on the path; for another one a
        cross compiler, clang with lld, or a cross linker; else zig's, which links for any, where
        the package ``ziglang`` is installed.

    Raises:
        QnnError: if there is none; says what to install.
    """
    if named:
        if path := shutil.which(named):
            return [path]
        raise QnnError(f"no linker {named!r} on the path")
    wanted = parts(platform or this_platform())
    if wanted == parts(this_platform()):
        return _native()
    if wanted not in CROSS:
        raise QnnError(f"no linker for {platform} is known here: name one with cc=")
    return _cross(CROSS[wanted])


def _native() -> list[str]:
    for name in COMPILERS:
        if path := shutil.which(name):
            return [path]
    if importlib.util.find_spec("ziglang"):
        return _zig()
    raise QnnError(
        "exporting a library needs a linker, and none of cc, gcc and clang is on the path: "
        "install your system's C compiler (Debian, Ubuntu: apt install gcc), "
        "or 'pip install ziglang'"
    )


def _cross(triple: str) -> list[str]:
    for name in (f"{triple}-gcc", f"{triple}-cc"):
        if path := shutil.which(name):
            return [path]
    # The library's code needs nothing of the other system's to be linked, so neither do these.
    if (path := shutil.which("clang")) and shutil.which("ld.lld"):
        return [path, f"--target={triple}", "-fuse-ld=lld", "-nostdlib"]
    if path := shutil.which(f"{triple}-ld"):
        return [path]
    if importlib.util.find_spec("ziglang"):
        return [*_zig(), "-target", triple]
    package = triple.replace("_", "-")
    raise QnnError(
        f"exporting a library for {triple} needs a cross linker, and none of {triple}-gcc, "
        f"clang with ld.lld and {triple}-ld is on the path: install one (Debian, Ubuntu: "
        f"apt install gcc-{package}, or just binutils-{package}), or 'pip install ziglang'"
    )


def _zig() -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc"]


def shared_library_linker(command: Sequence[str]) -> Callable[..., None]:
    """A function in the form TVM's export takes: (output, objects, options) -> None."""

    def link(output: str, objects: Sequence[str], options: Sequence[str] | None = None) -> None:
        line = [*command, "-shared", "-o", str(Path(output)), *objects, *(options or [])]
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
