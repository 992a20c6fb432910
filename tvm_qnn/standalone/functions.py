"""TIR functions as machine code with C's calling convention, in need of no runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import tvm
from tvm import tirx
from tvm_ffi import structural_map

from tvm_qnn.target.indices import wide_indices

# TVM keeps smaller buffers of a function on the stack, and asks its runtime for the others.
_STACK = 1024

_C_CALLS = 2  # tvm::CallingConv: what TVM passes over when it wraps functions for its runtime
_CPU = 1  # DLPack's kDLCPU

# They take functions for their wrapped form; no 8- or 16-bit floats occur.
_WRAPPING = ["tirx.MakePackedAPI", "tirx.FP8StorageLegalize", "tirx.BF16StorageLegalize"]


@dataclass(frozen=True)
class Compiled:
    """Functions in one module of TVM's.

    Attributes:
        module: has LLVM's code.
        scratch: for each function, by its name in the module that was compiled, the sizes in
            bytes of the blocks of memory that it takes as further, last arguments.
    """

    module: Any
    scratch: dict[str, tuple[int, ...]]


def compile_functions(
    functions: Mapping[str, tirx.PrimFunc], symbols: Mapping[str, str], target: tvm.target.Target
) -> Compiled:
    """Compile functions that take a pointer for each of their tensors, and run in one thread.

    Args:
        functions: by name.
        symbols: the name of each in C.
        target: what to compile for.
    """
    mod = tvm.IRModule({name: _prepared(f, symbols[name]) for name, f in functions.items()})
    mod = tirx.transform.BindTarget(target.with_host(target))(mod)
    pipeline, finalize, _ = tirx.get_tir_pipeline("s_tir")
    disabled = [*_WRAPPING, *wide_indices(functions.values(), target)]
    with tvm.transform.PassContext(disabled_pass=disabled):
        mod = pipeline(mod)
    pointers = {name: _with_pointers(mod[name]) for name in functions}
    mod = tvm.IRModule({name: function for name, (function, _) in pointers.items()})
    module = tvm.get_global_func("target.build.llvm")(finalize()(mod), target)
    return Compiled(module, {name: scratch for name, (_, scratch) in pointers.items()})


def _prepared(function: tirx.PrimFunc, symbol: str) -> tirx.PrimFunc:
    body = structural_map(function.body, (tirx.For, _serial))
    attrs = {"global_symbol": symbol, "calling_conv": _C_CALLS}
    return function.with_body(body).with_attrs(attrs)


def _serial(loop: tirx.For) -> tirx.For:
    if loop.kind != tirx.ForKind.PARALLEL:
        return loop
    return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, loop.body)


def _with_pointers(function: tirx.PrimFunc) -> tuple[tirx.PrimFunc, tuple[int, ...]]:
    """Rewrite a function to take pointers for buffers, its own large ones too; and their sizes."""
    parameters = [tirx.Var(f"argument_{i}", "handle") for i in range(len(function.params))]
    buffers = zip(function.params, parameters, strict=True)
    # TVM takes the memory of a buffer that is a parameter itself for nobody else's, also where the
    # function has no "noalias"; LLVM then lifts loads out of loops, and spills them.
    declared = [
        tirx.DeclBuffer(buffer, data=tirx.reinterpret("handle", pointer))
        for buffer, pointer in buffers
    ]
    sizes: list[int] = []

    def lift(allocation: tirx.AllocBuffer) -> tirx.Stmt:
        size = _size(allocation.buffer)
        if size < _STACK:
            return allocation
        sizes.append(size)
        parameters.append(tirx.Var(f"scratch_{len(sizes)}", "handle"))
        return tirx.DeclBuffer(allocation.buffer, data=parameters[-1])

    body = structural_map(function.body, (tirx.AllocBuffer, lift))
    body = tirx.SeqStmt([*declared, body])
    # Without these TVM takes no buffer for small enough to lie on the stack.
    for key, value in (("device_type", _CPU), ("device_id", 0)):
        body = tirx.AttrStmt("default", key, tirx.IntImm("int32", value), body)
    return tirx.PrimFunc(parameters, body, None, function.attrs), tuple(sizes)


def _size(buffer: Any) -> int:
    dtype = tvm.DataType(buffer.dtype)
    shape: Sequence[Any] = buffer.shape
    return prod(int(extent) for extent in shape) * ((dtype.bits * dtype.lanes + 7) // 8)
