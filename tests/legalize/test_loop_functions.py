"""Functions that are added to a module: their names, and which of them are one."""

import pytest
import tvm_ffi
from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.loop_functions import OPAQUE, add_function, root_block, storing_function, with_body


def stores(number: int) -> tirx.PrimFunc:
    """Return a function that stores a number."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("stores")
        T.buffer_store(T.arg("result", T.buffer((1,), "int32")), T.int32(number), [0])
    return builder.get()


def test_equal_functions_of_one_name_are_one() -> None:
    builder = relax.BlockBuilder()
    names = [("f", 1), ("f", 2), ("g", 1), ("f", 3), ("f", 1), ("f", 2), ("f", 3)]
    found = [add_function(builder, name, stores(number)) for name, number in names]
    assert [each.name_hint for each in found] == ["f", "f1", "g", "f2", "f", "f1", "f2"]
    assert len({*builder.get().get_global_vars()}) == 4
    assert all(builder.get().get_global_var(each.name_hint).same_as(each) for each in found)
    assert builder.get()["f2"].attrs["op_pattern"] == OPAQUE


@pytest.mark.parametrize("added_first", [False, True])
def test_names_differ_from_those_that_the_builder_gives(added_first: bool) -> None:
    builder = relax.BlockBuilder()
    for number, by_builder in enumerate([added_first, not added_first]):
        if by_builder:
            builder.add_func(stores(number), "f")
        else:
            add_function(builder, "f", stores(number))
    assert len(builder.get().get_global_vars()) == 2


def test_functions_are_those_of_tvms_own_constructor() -> None:
    function = stores(1)
    root = root_block(function.body)
    pairs = [
        (with_body(function, root), function.with_body(root)),
        (storing_function(function.params, root), tirx.PrimFunc(function.params, root)),
    ]
    for made, wanted in pairs:
        assert tvm_ffi.structural_equal(made, wanted)
        assert tvm_ffi.structural_equal(made.ty, wanted.ty)
        assert made.params[0].same_as(wanted.params[0])
