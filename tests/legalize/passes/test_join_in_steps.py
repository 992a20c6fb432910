from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.join_in_steps import JoinInSteps
from legalize.pipeline import calls_pipeline
from tests.support.modules import module
from tests.support.operators import run

JOINS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "concat": (lambda parts: R.concat(parts, axis=1), lambda parts: np.concatenate(parts, 1)),
    "stack": (lambda parts: R.stack(parts, axis=1), lambda parts: np.stack(parts, 1)),
}


def joined(join: Callable[..., Any], count: int) -> tvm.IRModule:
    inputs = {f"x{number}": relax.TensorType((2, 3), "float32") for number in range(count)}
    return module(inputs, lambda *parts: join(list(parts)))


def most_operands(mod: tvm.IRModule) -> int:
    return max(len(f.params) for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc))


@pytest.mark.parametrize("name", JOINS)
def test_the_result_is_the_same(name: str) -> None:
    join, expected = JOINS[name]
    arrays = [np.full((2, 3), number, np.float32) for number in range(70)]
    mod = JoinInSteps()(joined(join, 70))
    np.testing.assert_array_equal(run(mod, arrays), expected(arrays))


@pytest.mark.parametrize("name", JOINS)
def test_no_function_of_the_whole_pipeline_joins_many(name: str) -> None:
    """Hundreds in one function end the process, also where fusion made it one."""
    target = tvm.target.Target("llvm")
    with target:
        lowered = calls_pipeline(target)(joined(JOINS[name][0], 500))
    assert most_operands(lowered) == 65  # and the result


def test_a_few_are_left_alone() -> None:
    mod = joined(JOINS["concat"][0], 64)
    tvm.ir.assert_structural_equal(JoinInSteps()(mod), mod)
