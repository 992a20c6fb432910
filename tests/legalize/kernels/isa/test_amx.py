import ctypes
import shutil
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.isa import amx
from tests.support.programs import call_tool
from tests.support.x86 import host_has


def asking(name: str) -> Any:
    """Return a function that asks for tiles twice, and says so."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name(name)
        T.func_attr({"global_symbol": name})
        output = T.arg("output", T.buffer((1,), "int32"))
        for _ in range(2):
            amx.request_permission()
        T.buffer_store(output, T.int32(1), [0])
    return builder.get()


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")
@pytest.mark.skipif(not host_has("sse2"), reason="Linux on x86 has the system call")
def test_a_library_asks_once(tmp_path: Path) -> None:
    # The functions of a library count its system calls, instead of libc's.
    source = tmp_path / "count.c"
    source.write_text(
        "long calls[4];\n"
        "long syscall(long number, long code, long feature) {\n"
        "  calls[0]++; calls[1] = number; calls[2] = code; calls[3] = feature; return 0;\n"
        "}\n"
    )
    functions = {name: asking(name) for name in ("first", "second")}
    library = tvm.compile(tvm.IRModule(functions), target="llvm")
    library.mod.write_to_file(str(tmp_path / "functions.o"))
    shared = tmp_path / "functions.so"
    call_tool(
        "cc", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", shared, source, tmp_path / "functions.o"
    )
    loaded = tvm.runtime.load_module(str(shared))
    output = tvm.runtime.empty((1,), "int32")
    for name in ("first", "second", "first"):
        loaded[name](output)
    calls = (ctypes.c_long * 4).in_dll(ctypes.CDLL(str(shared)), "calls")
    assert list(calls) == [1, 158, 0x1023, 18]
