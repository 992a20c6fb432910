"""AMX's instructions on processors that have none: calls of C functions (``tiles.c``)."""

import ctypes
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.x86 import network as network_choice
from legalize.kernels.conv2d.x86.amx import plan
from legalize.kernels.isa import amx
from qnn_ops import quantized_conv2d
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.programs import call_tool
from tests.support.x86 import runs_here


def use_soft_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels that are built from now on call C functions for AMX's instructions."""
    if not shutil.which("cc") or not runs_here("haswell"):
        pytest.skip("no C compiler cc on the path, or the processor has no AVX2")
    _load()
    monkeypatch.setattr(amx, "request_permission", lambda: None)
    monkeypatch.setattr(amx, "_instruction", _call)


def use_tiles_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make convolutions and dense layers use tiles of uncopied data, at any cost."""
    cut = plan.cut.__wrapped__  # its results now must not be cached for other tests
    monkeypatch.setattr(plan, "cost", lambda _: 0.0)
    monkeypatch.setattr(plan, "cut", cut)
    monkeypatch.setattr(plan, "cut_copied", lambda _: None)
    monkeypatch.setattr(network_choice, "prefers_tiles", lambda _: True)


def convolution(x: relax.Expr) -> relax.Call:
    """Call a convolution that takes tiles where they are, of [1, 28, 28, 128] uint8, 3 × 3."""
    return quantized_conv2d(
        x,
        relax.const(np.ones((128, 3, 3, 128), np.int8)),
        data_layout="NHWC",
        kernel_layout="OHWI",
        **encodings(input=(1.0, 0), kernel=(1.0, 0), output=(2000.0, 0), out_dtype="uint8"),
    )


def network() -> tvm.IRModule:
    """Return a module of this convolution alone."""
    return module({"x": relax.TensorType((1, 28, 28, 128), "uint8")}, convolution)


def _call(name: str, *operands: Any) -> None:
    T.evaluate(T.call_extern("int32", f"soft_{name}", *operands))


@cache
def _load() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-tiles-") as folder:
        library = Path(folder) / "tiles.so"
        source = Path(__file__).with_name("tiles.c")
        options = ("-O3", "-mavx2", "-Wall", "-Werror", "-shared", "-fPIC")
        call_tool("cc", *options, source, "-o", library)
        return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
