"""AMX's instructions on processors that have none: calls of C functions (``tiles.c``)."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tvm.script.ir_builder import tirx as T

from legalize.kernels.isa import amx
from tests.support.programs import call_tool
from tests.support.x86 import runs_here


def use_soft_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels that are built from now on call C functions for AMX's instructions."""
    if not shutil.which("cc") or not runs_here("haswell"):
        pytest.skip("no C compiler cc on the path, or the processor has no AVX2")
    _load()
    monkeypatch.setattr(amx, "request_permission", lambda: None)
    monkeypatch.setattr(amx, "_instruction", _call)


def _call(name: str, *operands: Any) -> None:
    T.evaluate(T.call_extern("int32", f"soft_{name}", *operands))


@cache
def _load() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-tiles-") as folder:
        library = Path(folder) / "tiles.so"
        source = Path(__file__).with_name("tiles.c")
        call_tool("cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", source, "-o", library)
        return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
