from __future__ import annotations

from tvm_qnn.profile.steps import Step, assign

STEPS = [
    Step("stage", 0),
    Step("conv2d", 0),
    Step(None, 1),
    Step(None, 1),
    Step("conv2d", 2),
    Step(None, 2),
    Step(None, 3),
    Step(None, None),
]


def test_kernels_belong_to_their_operators_and_others_to_the_one_between() -> None:
    calls = ["stage", "conv2d", "fused_add", "max", "conv2d"]
    assert assign(calls, STEPS) == [0, 0, 1, 1, 2]


def test_what_may_belong_to_several_operators_belongs_to_none() -> None:
    calls = ["stage", "conv2d", "conv2d", "fused_cast_add"]
    assert assign(calls, STEPS) == [0, 0, 2, None]


def test_nothing_is_assigned_if_other_kernels_ran_than_were_lowered() -> None:
    assert assign(["conv2d", "stage", "fused_add", "conv2d"], STEPS) == [None] * 4
    assert assign(["stage", "conv2d"], STEPS) == [None] * 2


def test_without_kernels_everything_is_of_the_only_operator_or_unknown() -> None:
    assert assign(["f", "g"], [Step(None, 4)]) == [4, 4]
    assert assign(["f", "g"], [Step(None, 4), Step(None, 5)]) == [None, None]
    assert assign(["f"], []) == [None]
