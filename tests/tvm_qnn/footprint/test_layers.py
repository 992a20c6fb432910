"""The layers of a run, and the steps that they are made of."""

from fractions import Fraction

import numpy as np
import tvm

from frontends.summary import OperatorInfo, TensorNote
from legalize.call_plan import Call, Constant, Input, Output, Plan, Temporary
from legalize.memory_plan import lay_out
from tvm_qnn.footprint.layers import COPY, Remains, Step, layers_of, steps_of
from tvm_qnn.profile.lowered import LoweredCall
from tvm_qnn.standalone.arrangement import Arrangement
from tvm_qnn.standalone.functions import Compiled
from tvm_qnn.target.target import parse_target

ALL = Remains({}, {})


def tensor(index: int) -> TensorNote:
    return TensorNote(index, f"t{index}", (1, index), "int8")


def chain(*operators: tuple[str, int]) -> dict[int, OperatorInfo]:
    """Operators with a code and products; each reads the result of the one before."""
    return {
        i: OperatorInfo(i, code, f"t{i + 1}", (tensor(i),), (tensor(i + 1),), macs=macs)
        for i, (code, macs) in enumerate(operators)
    }


def step(function: str, *operators: int, size: int | None = 1) -> Step:
    return Step(function, frozenset(operators), 10, size, 5 * len(function), size)


def test_calls_of_one_operator_are_a_layer() -> None:
    steps = [step("pad", 0), step("conv", 0), step("pool", 1), step(COPY)]
    conv, pool, copy = layers_of(steps, chain(("CONV", 8), ("POOL", 0)), ALL)
    assert (conv.name, conv.code, conv.shape, conv.functions) == (
        *("t1", "CONV", (1, 1)),
        ("pad", "conv"),
    )
    assert (conv.macs, conv.constant_bytes, conv.function_bytes, conv.workspace) == (8, 20, 2, 20)
    assert (pool.name, pool.macs) == ("t2", 0)
    assert (copy.name, copy.code, copy.shape, copy.macs) == (COPY, "", (), 0)


def test_operators_of_one_call_are_one_layer() -> None:
    steps = [step("conv", 0), step("f", 0, 1, 2), step("g", 0, 1, 2)]
    conv, rest = layers_of(steps, chain(("CONV", 8), ("MUL", 3), ("SUM", 4)), ALL)
    assert (conv.macs, conv.functions) == (8, ("conv",))
    assert (rest.name, rest.code, rest.macs) == ("t3", "MUL + SUM", 7)
    assert rest.functions == ("f", "g")
    operators = chain(("CONV", 8), ("RESHAPE", 0), ("ADD", 0), ("CONV", 9))
    steps = [step("conv_add", 2), step("conv", 3)]
    first, second = layers_of(steps, operators, ALL)
    assert (first.name, first.code, first.macs) == ("t3", "CONV + ADD", 8)
    assert (second.code, second.macs) == ("CONV", 9)
    (layer,) = layers_of([step("f", 0)], chain(("RELU", 0), ("DENSE", 9)), ALL)
    assert (layer.code, layer.macs) == ("RELU + DENSE", 9)


def test_what_is_left_out_or_not_known_is_told() -> None:
    remains = Remains({0: (1, 3)}, {0: Fraction(1, 2), 1: Fraction(2, 3)})
    first, second = layers_of([step("f", 0), step("g", 1)], chain(("A", 8), ("B", 9)), remains)
    assert (first.macs, second.macs) == (4, 6)
    assert first.left_out == {"t1": (1, 3)}
    assert second.left_out == {}
    steps = [step("f", 0), step("g", 0, size=None)]
    (layer,) = layers_of(steps, chain(("A", 8)), ALL)
    assert layer.function_bytes is None


CALLS = (
    Call("f", (Input(0), Constant(0), Constant(0), Temporary(0))),
    Call("g", (Temporary(0), Constant(1), Temporary(1))),
    Call("f", (Temporary(1), Constant(0), Output(0))),
    Call(None, (Output(1), Constant(2))),
)
LOWERED = [LoweredCall("f", 0), LoweredCall(None, 1), LoweredCall("f", 2), LoweredCall(None, None)]


def test_what_calls_have_in_common_is_counted_once() -> None:
    constants = (tvm.runtime.tensor(np.zeros(1)),) * 3
    plan = Plan(CALLS, constants, (100, 30))
    compiled = Compiled(parse_target("cortex-m4"), {}, {})
    symbols = {"f": "m_0_f", "g": "m_1_g"}
    arranged = Arrangement(plan, compiled, symbols, 4, lay_out(plan, 4), None)
    code = {".text.m_0_f": 50, ".text.m_1_g": 60, ".rodata": 7}
    steps = [*steps_of(arranged, LOWERED, [4, 8, 16], code, {"f": 7})]
    assert [each.function for each in steps] == ["f", "g", "f", COPY]
    assert [[*each.operators] for each in steps] == [[0], [1], [2], []]
    assert [each.constant_bytes for each in steps] == [4, 8, 0, 16]
    assert [each.function_bytes for each in steps] == [50, 60, 0, 0]
    assert [each.workspace for each in steps] == [100, 130, 30, 0]
    assert [each.instructions for each in steps] == [7, None, 7, None]
    unknown = steps_of(arranged, LOWERED, [4, 8, 16], None, {})
    assert [each.function_bytes for each in unknown] == [None] * 4
