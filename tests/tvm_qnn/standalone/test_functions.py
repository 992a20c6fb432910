import re
from dataclasses import replace
from typing import Any

import numpy as np
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.arm.pack import pack_conv2d
from legalize.kernels.conv2d.calls import fixed_point
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.ir.tasks import as_threads
from legalize.kernels.isa.arm import DOTPROD
from tests.support.convolutions import SPEC
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target


def through_buffer(size: int) -> Any:
    """Copy through a buffer of its own, which is never in registers, in a parallel loop."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("copy")
        source, target = (T.arg(name, T.buffer((size,), "int32")) for name in ("x", "y"))
        with T.sblock("root"):
            T.reads()
            T.writes()
            between = T.sblock_alloc_buffer((size,), "int32")
            with T.serial(size) as i:
                T.buffer_store(between, source[i], [source[i]])
            with T.parallel(size) as j:
                T.buffer_store(target, between[j], [j])
    return builder.get()


def test_large_buffers_become_arguments_and_parallel_loops_plain_ones() -> None:
    functions = {"small": through_buffer(8), "large": through_buffer(1000)}
    symbols = {"small": "m_small", "large": "m_large"}
    compiled = compile_functions(functions, symbols, parse_target("aarch64"))
    assert compiled.scratch == {"small": (), "large": (4000,)}
    code = compiled.module.inspect_source("ll")
    assert "TVMBackend" not in code
    for symbol, arguments in (("m_small", 2), ("m_large", 3)):
        (line,) = (line for line in code.splitlines() if f"void @{symbol}(" in line)
        assert line.count("ptr ") == arguments
    for core, most in (("cortex-m4", 119), ("cortex-m55", 23), ("cortex-m0plus", 255)):
        functions = {"small": through_buffer(most), "large": through_buffer(most + 1)}
        symbols = {"small": "m_small", "large": "m_large"}
        compiled = compile_functions(functions, symbols, parse_target(core))
        assert compiled.scratch == {"small": (), "large": (4 * (most + 1),)}


def test_what_asks_for_threads_has_one() -> None:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("count")
        y = T.arg("y", T.buffer((4,), "int32"))
        with T.parallel(as_threads(4)) as task:
            T.buffer_store(y, task + 7, [task])
    compiled = compile_functions({"count": builder.get()}, {"count": "m"}, parse_target("aarch64"))
    code = compiled.module.inspect_source("ll")
    assert "TVMBackend" not in code
    assert "NumThreads" not in code
    # The one task is written out.
    assert "store i32 7" in code
    assert "store i32 8" not in code


def test_kernels_without_noalias_are_compiled_as_they_say() -> None:
    """Else LLVM lifts the loads of a convolution's rescaling out of its loop, and spills them."""
    spec = replace(
        SPEC,
        in_height=28,
        in_width=28,
        in_channels=16,
        kernel_height=1,
        kernel_width=1,
        strides=(1, 1),
        padding=(0, 0, 0, 0),
        out_channels=96,
    )
    weights = np.ones((96, 1, 1, 16), np.int8)
    scales = fixed_point(spec, np.linspace(0.001, 0.01, 96))
    function = pack_conv2d(spec, Weights(weights, 0, None, *scales), DOTPROD).build()
    compiled = compile_functions(
        {"conv": function}, {"conv": "m_conv"}, parse_target("aarch64-dotprod")
    )
    code = compiled.module.inspect_source("asm")
    assert len(re.findall(r"\sq\d+.*\[sp", code)) < 20
