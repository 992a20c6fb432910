"""oneDNN inside MXNet with its reference code only, as on a processor without SSE4.1.

oneDNN has a setting for the most that it may use of a processor, DNNL_MAX_CPU_ISA, of which SSE4.1
is the least that has a name. The value below, none at all, works the same way; so it is written to
where the setting is kept. That place is known for the one build that exists for Linux on x86-64:
MXNet 1.9.1 is the last release, and the wheel will not change any more.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import mxnet as mx

_NAME = b"DNNL_MAX_CPU_ISA"
_SIZE = 153_857_136  # of the wheel's libmxnet.so
# Within the library once it is loaded.
_NAME_AT, _SETTING_AT, _IS_READ_AT = 0x832F9CA, 0x94EFB48, 0x94EFBA0


def is_known() -> bool:
    """Tell whether this MXNet is the build whose setting we find."""
    library = Path(mx.libinfo.find_lib_path()[0])
    # Nothing is read at an address unless the file is of the size that it is known for.
    return library.stat().st_size == _SIZE and ctypes.string_at(_base() + _NAME_AT) == _NAME


def switch() -> None:
    """Have oneDNN use its reference code, in this process and for good.

    To be called before MXNet computes anything, of a build that ``is_known``.

    Raises:
        RuntimeError: oneDNN has read its setting already.
    """
    is_read = ctypes.c_ubyte.from_address(_base() + _IS_READ_AT)
    if is_read.value:
        raise RuntimeError("oneDNN has chosen its kernels already")
    ctypes.c_uint.from_address(_base() + _SETTING_AT).value = 0
    is_read.value = 1


def _base() -> int:
    """Find the address at which the library is loaded."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        return next(int(line.partition("-")[0], 16) for line in maps if "libmxnet.so" in line)
