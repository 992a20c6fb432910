import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.places import address, with_addresses


def stores(*, is_hidden: bool) -> tirx.PrimFunc:
    """Return a function that writes after an offset whose last bits are 0."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("stores")
        T.func_attr({"global_symbol": "stores"})
        out = T.arg("out", T.buffer((32,), "int32"))
        start = T.arg("start", T.int32())
        with with_addresses():
            first = start * 8
            place = address(first) if is_hidden else first
            for i in range(3):
                T.buffer_store(out, T.int32(i + 1), [place + i])
    return builder.get()


def test_places_share_one_register() -> None:
    def hidden(*, is_hidden: bool) -> int:
        code = tvm.compile(stores(is_hidden=is_hidden), target="llvm").mod.inspect_source("ll")
        return str(code).count('asm "", "=r,0"')

    assert hidden(is_hidden=True) == 1
    assert hidden(is_hidden=False) == 0


@pytest.mark.parametrize("is_hidden", [False, True])
def test_places_are_the_same(is_hidden: bool) -> None:
    out = tvm.runtime.tensor(np.zeros(32, np.int32))
    tvm.compile(stores(is_hidden=is_hidden), target="llvm")(out, 2)
    wanted = np.zeros(32, np.int32)
    wanted[16:19] = 1, 2, 3
    np.testing.assert_array_equal(out.numpy(), wanted)
