from __future__ import annotations

import numpy as np
import tvm

from legalize.call_plan import Call, Constant, Input, Output, Plan, Temporary
from legalize.memory_plan import lay_out
from tvm_qnn.footprint.steps import COPY, steps_of
from tvm_qnn.profile.lowered import LoweredCall
from tvm_qnn.standalone.arrangement import Arrangement
from tvm_qnn.standalone.functions import Compiled
from tvm_qnn.target.target import parse_target

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
