from typing import Any

import pytest
import tvm
from tvm import te

from legalize.passes import tir_blocks
from legalize.passes.tir_blocks import tir_block_pass


def chain() -> tvm.IRModule:
    """A function of two blocks."""
    data = te.placeholder((4,), "int32")
    once = te.compute((4,), lambda i: data[i] + 1, name="once")
    twice = te.compute((4,), lambda i: once[i] + 1, name="twice")
    return tvm.IRModule({"main": te.create_prim_func([data, twice])})


@pytest.mark.parametrize("least", [1, 2])
def test_each_block_of_a_function_is_given_if_one_may_change(least: int) -> None:
    given: list[str] = []

    def change(schedule: Any, block: Any) -> None:
        given.append(str(schedule.get(block).name_hint))

    def is_twice(block: Any) -> bool:
        return bool(block.name_hint == "twice")

    tir_block_pass(change, "Change", is_twice, least)(chain())
    assert given == ["once", "twice"]


@pytest.mark.parametrize(("may_change", "least"), [(False, 1), (True, 3)])
def test_other_functions_get_no_schedule(
    monkeypatch: pytest.MonkeyPatch, may_change: bool, least: int
) -> None:
    monkeypatch.setattr(tir_blocks, "_Schedule", lambda *_, **__: pytest.fail("it has a schedule"))
    unchanged = tir_block_pass(lambda *_: None, "Change", lambda _: may_change, least)(chain())
    tvm.ir.assert_structural_equal(unchanged, chain())
