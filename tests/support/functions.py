"""Small functions of TIR for the tests of passes and emulators."""

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T


def loops(
    shape: Sequence[int], value: Callable[..., Any], *operands: Any, dtype: str = "float32"
) -> Any:
    """Return a private function with a loop for each axis of its result.

    Args:
        shape: of the result.
        value: computes an element from the operands and the element's indices.
        operands: shapes of tensors; those of another dtype with it.
        dtype: of the tensors.
    """
    kinds = [each if isinstance(each[0], tuple) else (each, dtype) for each in operands]
    tensors = [te.placeholder(*kind) for kind in kinds]
    result = te.compute(shape, lambda *indices: value(*tensors, *indices))
    function = te.create_prim_func([*tensors, result])
    return function.without_attr("global_symbol").without_attr("tirx.noalias")


def doubler(size: int, dtype: str) -> Any:
    """Return a function that doubles each element."""
    data = te.placeholder((size,), dtype)
    doubled = te.compute((size,), lambda i: data[i] + data[i])
    return te.create_prim_func([data, doubled])


def copier(size: int, reads: int, writes: int) -> Any:
    """A function that reads and writes as many bytes as told, from where its buffers begin."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("copy")
        source, target = (T.arg(name, T.buffer((size,), "int8")) for name in ("source", "target"))
        with T.sblock("root"):
            T.reads()
            T.writes()
            flat = T.decl_buffer((reads,), "int8", data=source.data)
            out = T.decl_buffer((writes,), "int8", data=target.data)
            with T.serial(0, max(reads, writes)) as i:
                T.buffer_store(out, flat[T.min(i, reads - 1)], [T.min(i, writes - 1)])
    return builder.get()


def dot(instruction: str, lanes: int) -> Any:
    """A function of one instruction, which adds up four products of bytes in each lane."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("dot")
        kinds = (("a", 4 * lanes, "int8"), ("b", 4 * lanes, "int8"), ("out", lanes, "int32"))
        a, b, out = (T.arg(name, T.buffer((size,), dtype)) for name, size, dtype in kinds)
        with T.sblock("root"):
            T.reads()
            T.writes()
            vectors = [buffer[T.ramp(0, 1, 4 * lanes)] for buffer in (a, b)]
            zero = T.broadcast(T.int32(0), lanes)
            value = T.call_llvm_pure_intrin(f"int32x{lanes}", instruction, zero, *vectors)
            T.buffer_store(out, value, [T.ramp(0, 1, lanes)])
    return builder.get()
