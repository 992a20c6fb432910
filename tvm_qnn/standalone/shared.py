"""Rewrites functions whose tensors share memory.

LLVM assumes that no two pointers of a function lead to the same memory. So tensors that overlap are
passed as one pointer, and as numbers: the distances of the other tensors from it.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm.tirx.buffer import decl_buffer
from tvm_ffi import structural_map, structural_walk


def with_shared_memory(
    function: tirx.PrimFunc, members: Sequence[int]
) -> tuple[Any, Any, Mapping[int, tirx.Var]]:
    """Rewrite a function so that some of its tensors of one dtype become parts of one buffer.

    Args:
        function: a lowered function, with buffers of one dimension.
        members: the indices of these parameters; the buffer begins with the first one.

    Returns:
        The body, the buffer, and by parameter the distance of the others in elements.
    """
    buffers = [function.params[number] for number in members]
    size = sum(prod(map(int, each.shape)) for each in buffers)
    shared = decl_buffer((size,), buffers[0].dtype, "shared")
    shifts = {number: tirx.Var(f"shift_{number}", "int32") for number in members[1:]}
    moved = {buffers[0]: tirx.IntImm("int32", 0)}
    moved |= dict(zip(buffers[1:], shifts.values(), strict=True))

    def find(node: Any) -> None:
        if isinstance(node, tirx.DeclBuffer) and (whole := owner(node)) in moved:
            moved[node.buffer] = moved[whole]

    structural_walk(function.body, find)

    def drop(node: tirx.DeclBuffer) -> tirx.Stmt:
        return tirx.Evaluate(tirx.IntImm("int32", 0)) if owner(node) in moved else node

    def load(node: Any) -> Any:
        if node.source not in moved:
            return node
        found = tirx.BufferLoad(shared, [_behind(node.indices[0], moved[node.source])])
        return _reinterpreted(found, str(node.ty.dtype))

    def store(node: tirx.BufferStore) -> tirx.Stmt:
        if node.buffer not in moved:
            return node
        dtype = str(node.value.ty.dtype).replace(str(node.buffer.dtype), str(shared.dtype))
        value = _reinterpreted(node.value, dtype)  # a view may read the bytes as another type
        return tirx.BufferStore(shared, value, [_behind(node.indices[0], moved[node.buffer])])

    rules = [(tirx.DeclBuffer, drop), (TensorLoad, load), (tirx.BufferStore, store)]
    return structural_map(function.body, rules), shared, shifts


def owner(node: tirx.DeclBuffer) -> Any:
    """Return the buffer or the pointer in whose memory a declared buffer lies."""
    data = node.data
    while isinstance(data, tvm.ir.Call) and data.op.name == "tirx.buffer_data":
        data = data.args[0]
    return data


def _reinterpreted(value: Any, dtype: str) -> Any:
    return value if str(value.ty.dtype) == dtype else tirx.reinterpret(dtype, value)


def _behind(index: Any, shift: Any) -> Any:
    if isinstance(shift, tirx.IntImm):
        return index
    if isinstance(index, tirx.Ramp):
        return tirx.Ramp(_behind(index.base, shift), index.stride, index.lanes)
    return index + tirx.Cast(index.ty.dtype, shift)
