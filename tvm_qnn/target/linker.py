"""Finds a linker for exported libraries, for this machine or another one."""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.target.processor import parts, this_platform

COMPILERS = ("cc", "gcc", "clang")

_COMPILERS_OF = {"windows": ("clang",)}
"""The compilers for systems on which not all of ``COMPILERS`` can link TVM's code."""

CROSS = {
    ("aarch64", "linux"): "aarch64-linux-gnu",
    ("arm", "linux"): "arm-linux-gnueabihf",
    ("x86_64", "linux"): "x86_64-linux-gnu",
}
"""The prefix of another platform's tools, which is also its name for clang and zig."""


def find_linker(named: str | None = None, platform: str | None = None) -> list[str]:
    """Return the command that links shared libraries.

    Args:
        named: a compiler's name or path, in place of a search. Clang and zig, which compile for
            any platform, are told the platform.
        platform: the libraries' platform, as in "aarch64-linux-gnu"; default: this machine.

    Returns:
        The command's first words. For this machine: a C compiler on the path. For another one: a
        cross compiler, clang with lld, or a cross linker. Otherwise zig's linker, which links for
        any platform, if the package ``ziglang`` is installed.

    Raises:
        QnnError: if there is none; the message says what to install.
    """
    wanted = parts(platform or this_platform())
    is_foreign = wanted != parts(this_platform())
    if named:
        words = _named(named, CROSS.get(wanted) if is_foreign else None)
        return words if is_foreign else [*words, *_native_options(wanted[1])]
    if not is_foreign:
        return [*_native(wanted[1]), *_native_options(wanted[1])]
    if wanted not in CROSS:
        raise QnnError(f"no linker for {platform} is known here: name one with cc=")
    return _cross(CROSS[wanted])


def _named(name: str, triple: str | None) -> list[str]:
    path = shutil.which(name)
    if path is None:
        raise QnnError(f"no linker {name!r} on the path")
    if Path(name).name == "zig":
        return [path, "cc", *(_zig_options(triple) if triple else [])]
    if triple and re.fullmatch(r"clang(-\d+)?", Path(name).name):
        return [path, *_clang_options(triple)]
    return [path]


def _native(system: str) -> list[str]:
    names = _COMPILERS_OF.get(system, COMPILERS)
    for name in names:
        if path := shutil.which(name):
            return [path]
    if system == "windows":
        raise QnnError(
            "exporting a library needs a linker, and clang is not on the path: install LLVM and "
            "the build tools of Visual Studio"
        )
    if importlib.util.find_spec("ziglang"):
        return _zig()
    raise QnnError(
        "exporting a library needs a linker, and none of cc, gcc and clang is on the path: "
        "install your system's C compiler (Debian, Ubuntu: apt install gcc; macOS: "
        "xcode-select --install), or 'pip install ziglang'"
    )


def _native_options(system: str) -> list[str]:
    """Return the options by which a system's linker finds TVM's functions, which the code calls."""
    if system == "darwin":
        return ["-undefined", "dynamic_lookup"]
    if system == "windows":
        from tvm_ffi.libinfo import find_windows_implib

        return [str(find_windows_implib())]
    return []


def _cross(triple: str) -> list[str]:
    for name in (f"{triple}-gcc", f"{triple}-cc"):
        if path := shutil.which(name):
            return [path]
    if (path := shutil.which("clang")) and shutil.which("ld.lld"):
        return [path, *_clang_options(triple)]
    if path := shutil.which(f"{triple}-ld"):
        return [path]
    if importlib.util.find_spec("ziglang"):
        return [*_zig(), *_zig_options(triple)]
    package = triple.replace("_", "-")
    raise QnnError(
        f"exporting a library for {triple} needs a cross linker, and none of {triple}-gcc, "
        f"clang with ld.lld and {triple}-ld is on the path: install one (Debian, Ubuntu: "
        f"apt install gcc-{package}, or just binutils-{package}), or 'pip install ziglang'"
    )


def _zig() -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc"]


# The code needs no library of the other system. Without "-nostdlib" clang would look for that
# system's library, and zig would build it, which takes long the first time.


def _clang_options(triple: str) -> list[str]:
    # Without lld, clang looks for the cross linker that the triple names.
    lld = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
    return [f"--target={triple}", *lld, "-nostdlib"]


def _zig_options(triple: str) -> list[str]:
    return ["-target", triple, "-nostdlib"]


def shared_library_linker(command: Sequence[str]) -> Callable[..., None]:
    """Return a function in the form TVM's export takes: (output, objects, options) -> None."""

    def link(output: str, objects: Sequence[str], options: Sequence[str] | None = None) -> None:
        line = [*command, "-shared", "-o", str(Path(output)), *objects, *(options or [])]
        try:
            result = subprocess.run(line, capture_output=True, text=True, check=False)
        except OSError as error:
            raise QnnError(f"cannot start the linker {command[0]}: {error.strerror}") from error
        if result.returncode:
            said = (result.stderr or result.stdout).strip()
            raise QnnError(f"linking with {' '.join(command)} failed: {said}")
        if not Path(output).is_file():
            raise QnnError(f"{' '.join(command)} linked nothing: is it a linker?")

    # TVM reads this attribute of a linker function: the suffix of the objects that it takes.
    link.output_format = "so"  # type: ignore[attr-defined]
    return link
