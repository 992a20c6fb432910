"""The features of this machine and its processor, and the needs of code on them.

On Linux this needs no compiler of TVM's.
"""

import ctypes
import functools
import os
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_AT_HWCAP, _AT_HWCAP2 = 16, 26  # keys of getauxval; asm/hwcap.h has the meaning of the bits

# Names in /proc/cpuinfo that differ from LLVM's in more than dots, dashes and underscores.
_X86_NAMES = {"pni": "sse3", "abm": "lzcnt", "bmi1": "bmi"}

# Linux's system call arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) on x86-64.
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18

TILES = ("amx-int8", "amx-tile")
"""LLVM's names of the extensions of AMX for bytes."""

# The names of systems in triples and in Python begin so.
_SYSTEMS = {
    "linux": ("linux",),
    "darwin": ("darwin", "macos"),
    "windows": ("windows", "win32"),
}

_ARM_BITS: dict[str, dict[tuple[int, int], str]] = {
    "aarch64": {
        (_AT_HWCAP, 1): "neon",
        (_AT_HWCAP, 20): "dotprod",
        (_AT_HWCAP, 22): "sve",
        (_AT_HWCAP2, 1): "sve2",
        (_AT_HWCAP2, 13): "i8mm",
    },
    "arm": {(_AT_HWCAP, 12): "neon", (_AT_HWCAP, 24): "dotprod", (_AT_HWCAP, 27): "i8mm"},
}


@dataclass(frozen=True)
class Requirements:
    """The needs of code on the machine that runs it.

    Attributes:
        platform: architecture and system, as "x86_64-linux-gnu".
        extensions: LLVM's names of extensions of the instruction set.
    """

    platform: str
    extensions: tuple[str, ...]

    def why_not_here(self) -> str | None:
        """Say why this machine cannot run such code; None if it can."""
        if parts(self.platform) != parts(this_platform()):
            return f"it is for {self.platform}, this machine is {this_platform()}"
        missing = sorted({*self.extensions} - extensions_here(self.extensions))
        if missing:
            return f"it needs a processor with {', '.join(missing)}, which this one lacks"
        return None


def processors() -> int:
    """Return how many processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def this_platform() -> str:
    """Return architecture and system of this program, as "x86_64-linux"."""
    machine = platform.machine().lower()
    if sys.maxsize < 2**32:  # a 32-bit program on a 64-bit processor
        machine = {"x86_64": "i686", "amd64": "i686", "aarch64": "armv7l"}.get(machine, machine)
    return f"{machine}-{sys.platform}"


def extensions_here(asked: Sequence[str]) -> set[str]:
    """Return those of some extensions of the instruction set that this machine's processor has.

    Args:
        asked: LLVM's names of extensions.
    """
    architecture, _ = parts(this_platform())
    if architecture in _ARM_BITS and sys.platform.startswith("linux"):
        return {*asked} & _arm_extensions(architecture)
    if _CPUINFO.is_file():
        here = _x86_extensions()
        return {name for name in asked if _bare(name) in here}
    return {*asked} & _llvm_extensions()


def told_of(asked: Iterable[str]) -> set[str]:
    """Return those of some extensions for which Linux reports whether this processor has them.

    Args:
        asked: LLVM's names of extensions.
    """
    architecture, system = parts(this_platform())
    if system != "linux":
        return set()
    if architecture in _ARM_BITS:
        return {*asked} & {*_ARM_BITS[architecture].values()}
    if architecture in ("x86_64", "i686") and _CPUINFO.is_file() and _x86_extensions():
        return {*asked}.difference(*(names.values() for names in _ARM_BITS.values()))
    return set()


@functools.cache
def _x86_extensions() -> frozenset[str]:
    found = re.search(r"^flags\s*:(.*)$", _CPUINFO.read_text(encoding="ascii"), re.MULTILINE)
    names = found.group(1).split() if found else []
    here = frozenset(_bare(_X86_NAMES.get(name, name)) for name in names)
    tiles = {name for name in here if name.startswith("amx")}
    return here - tiles if tiles and not _may_use_tiles() else here


def _llvm_extensions() -> set[str]:
    """Ask LLVM: on other systems than Linux only LLVM knows."""
    from tvm.target import Target, codegen

    target = Target({"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu()})
    return {str(name) for name in codegen.llvm_get_cpu_features(target)}


def _may_use_tiles() -> bool:
    """Ask Linux for AMX's tiles, which this process then has until it ends."""
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0


def _bare(name: str) -> str:
    """Remove a name's marks: LLVM's sse4.1 and avx512vnni are sse4_1 and avx512_vnni in Linux."""
    return re.sub(r"[._-]", "", name)


@functools.cache
def _arm_extensions(architecture: str) -> frozenset[str]:
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype, getauxval.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    return frozenset(
        name for (word, bit), name in _ARM_BITS[architecture].items() if getauxval(word) >> bit & 1
    )


def parts(triple: str) -> tuple[str, str]:
    """Return architecture and system of "x86_64-pc-linux-gnu"; the vendor does not matter."""
    architecture, *rest = triple.lower().split("-")
    if architecture in ("amd64", "x64"):
        architecture = "x86_64"
    elif architecture in ("arm64", "arm64e"):
        architecture = "aarch64"
    elif re.match(r"(arm|thumb)(v\d|$)", architecture):
        architecture = "arm"
    elif re.fullmatch(r"i[3-9]86", architecture):
        architecture = "i686"
    for system, names in _SYSTEMS.items():
        if any(part.startswith(names) for part in rest):
            return architecture, system
    return architecture, "-".join(rest)
