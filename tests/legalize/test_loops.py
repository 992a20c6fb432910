from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.loops import write_rows
from tests.support.modules import module

STEPS = 5
NUMBERS = np.arange(STEPS, dtype=np.int32).reshape(STEPS, 1)


def a_turn(
    numbers: np.ndarray[Any, Any] = NUMBERS,
    then: Callable[[relax.Var, relax.Var], relax.Expr] = lambda made, _: made,
) -> tvm.IRModule:
    """A module that writes a row [2, 1, 3] among five; ``then`` computes the variable's value."""

    def body(turn: relax.Var, row: relax.Var, rows: relax.Var) -> list[relax.Expr]:
        emit = relax.BlockBuilder.current().emit
        made = emit(R.where(emit(R.equal(relax.const(numbers), turn)), row, rows))
        return [R.add(turn, relax.const(np.ones(1, np.int32))), R.abs(row), then(made, rows)]

    types = {"turn": ((1,), "int32"), "row": ((2, 1, 3), "float32")}
    types["rows"] = ((2, STEPS, 3), "float32")
    mod = module({name: relax.TensorType(*each) for name, each in types.items()}, body)
    return relax.transform.CanonicalizeBindings()(mod)


def is_in_place(mod: tvm.IRModule) -> bool:
    return "call_tir_inplace" in write_rows(mod).script()


def test_only_its_row_is_written() -> None:
    mod = write_rows(a_turn())
    assert "R.where" not in mod.script()
    (function,) = (each for name, each in mod.functions_items() if name.name_hint == "write_row")
    compiled = tvm.compile(
        tvm.IRModule({"main": function.with_attr("global_symbol", "main")}), target="llvm"
    )
    row = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
    for turn in (-1, 0, 4, STEPS):
        wanted = np.full((2, STEPS, 3), 9, np.float32)
        given = [np.array([turn], np.int32), wanted.copy()]
        if 0 <= turn < STEPS:
            wanted[:, turn] = row[:, 0]
        number, rows = map(tvm.runtime.tensor, given)
        compiled["main"](tvm.runtime.tensor(row), number, rows)
        np.testing.assert_array_equal(rows.numpy(), wanted)


@pytest.mark.parametrize(
    ("mod", "expected"),
    [
        (a_turn(), True),
        (a_turn(NUMBERS[::-1]), False),  # not the row of the turn
        (a_turn(then=lambda made, _: R.abs(made)), False),
        (a_turn(then=lambda made, rows: R.where(R.equal(made, rows), made, rows)), False),
    ],
    ids=["plain", "other numbers", "not the variable's value", "read again"],
)
def test_which_calls_are_written_in_place(mod: tvm.IRModule, expected: bool) -> None:
    assert is_in_place(mod) is expected
