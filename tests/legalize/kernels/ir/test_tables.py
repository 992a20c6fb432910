from typing import Any

import numpy as np
import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T
from tvm_ffi import structural_walk

from legalize.kernels.ir.places import with_addresses
from legalize.kernels.ir.tables import Table, Tables

SHAPE = (3, 2, 4)


def copies() -> tirx.PrimFunc:
    """Return a function that copies a table through one of its own, a vector and an element."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("copies")
        T.func_attr({"global_symbol": "copies"})
        tables = Tables()
        table = tables.parameter("table", SHAPE, "int32")
        out = T.arg("out", T.buffer((2, 4), "int32"))
        tables.flatten()
        target = T.decl_buffer((8,), "int32", data=out.data)
        own = Table.allocated(SHAPE, "int32")
        ramp = T.ramp(0, 1, 4)
        with T.serial(SHAPE[0]) as i:
            own.store(table[i, 1, ramp], (i, 1, ramp))
        T.buffer_store(target, own[2, 1, ramp], [ramp])
        with with_addresses(), T.serial(4) as k:
            T.buffer_store(target, table.after(1)[0, 0, k], [4 + k])
    return builder.get()


def test_elements_are_those_of_the_axes() -> None:
    table = np.arange(24, dtype=np.int32).reshape(SHAPE)
    out = tvm.runtime.tensor(np.zeros((2, 4), np.int32))
    tvm.compile(copies(), target="llvm")(tvm.runtime.tensor(table), out)
    np.testing.assert_array_equal(out.numpy(), [table[2, 1], table[1, 0]])


def test_accesses_have_one_index() -> None:
    counts: set[int] = set()

    def see(node: Any) -> None:
        counts.add(len(node.indices))

    structural_walk(copies().body, [(TensorLoad, see), (tirx.BufferStore, see)])
    assert counts == {1}
