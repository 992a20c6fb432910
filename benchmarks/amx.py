"""AMX, Intel's matrix tiles: tells whether a process uses them, and forbids their use.

On Linux a process must ask for the tiles before it can use them. So a benchmark can see whether a
program uses them. It can also refuse the request, and compare the program with and without tiles.
"""

import ctypes
import errno
import platform
import sys
from typing import ClassVar

# The number of arch_prctl(2) on x86-64, two of its codes, and the number of the tiles' state.
_ARCH_PRCTL = 158
_GET_PERMITTED, _REQUEST_PERMISSION = 0x1022, 0x1023
_TILE_DATA = 18

# prctl(2) and classic BPF: see seccomp(2).
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER_AT, _FIRST_ARGUMENT_AT = 0, 16
_FAIL, _ALLOW = 0x00050000, 0x7FFF0000


class _Instruction(ctypes.Structure):
    _fields_: ClassVar = [
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_: ClassVar = [
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_Instruction)),
    ]


def in_use() -> bool:
    """Tell whether this process has asked for the tiles and got them."""
    if not _is_known():
        return False
    permitted = ctypes.c_uint64(0)
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.syscall(_ARCH_PRCTL, _GET_PERMITTED, ctypes.byref(permitted))
    return not failed and bool(permitted.value >> _TILE_DATA & 1)


def forbid() -> None:
    """Refuse the tiles, from now on, to this process and the processes that it starts.

    Raises:
        OSError: the system does not let a process refuse them.
    """
    if not _is_known():
        return
    steps = (
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_IF_EQUAL, 0, 3, _ARCH_PRCTL),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_JUMP_IF_EQUAL, 0, 1, _REQUEST_PERMISSION),
        (_RETURN, 0, 0, _FAIL | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    )
    instructions = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    program = _Program(len(steps), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _SET_SECCOMP, _MODE_FILTER, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), "cannot forbid the use of AMX")


def _is_known() -> bool:
    return sys.platform == "linux" and platform.machine() == "x86_64"
