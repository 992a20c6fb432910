"""Makes the oneDNN inside MXNet use only its reference code, as on a processor without SSE4.1.

oneDNN's setting DNNL_MAX_CPU_ISA limits the instruction sets that it uses; SSE4.1 is the lowest one
with a name. The value below SSE4.1, no instruction set, also works, so this module writes it to the
setting's address. That address is known for the only build for Linux on x86-64: MXNet 1.9.1 is the
last release, and its wheel will not change any more.
"""

import ctypes
from pathlib import Path

import mxnet as mx

_NAME = b"DNNL_MAX_CPU_ISA"
_SIZE = 153_857_136  # bytes of the wheel's libmxnet.so
# Offsets in the loaded library.
_NAME_AT, _SETTING_AT, _IS_READ_AT = 0x832F9CA, 0x94EFB48, 0x94EFBA0


def is_known() -> bool:
    """Tell whether this MXNet is the build whose setting's address is known."""
    library = Path(mx.libinfo.find_lib_path()[0])
    # An address is read only if the file has the size of the known build.
    return library.stat().st_size == _SIZE and ctypes.string_at(_base() + _NAME_AT) == _NAME


def switch() -> None:
    """Make oneDNN use its reference code in this process, permanently.

    Call this function before MXNet computes anything, and only if ``is_known``.

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
