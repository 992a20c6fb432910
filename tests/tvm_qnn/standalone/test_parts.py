from types import SimpleNamespace
from typing import Any

import pytest

from legalize.call_plan import Call, Input, Place, Plan, Temporary
from legalize.image_rows import JOINS, TAKES
from tvm_qnn.standalone.parts import with_parts

FUNCTIONS = {
    "f": SimpleNamespace(attrs={}),
    "take": SimpleNamespace(attrs={TAKES: 16}),
    "join": SimpleNamespace(attrs={JOINS: True}),
}


def planned(*calls: tuple[str, list[Any]], sizes: tuple[int, ...]) -> Plan:
    def place(number: Any) -> Place:
        return Temporary(number) if isinstance(number, int) else number

    return Plan(tuple(Call(name, tuple(map(place, numbers))) for name, numbers in calls), (), sizes)


def test_what_is_taken_or_joined_is_part_of_the_whole() -> None:
    plan = planned(
        ("take", [0, 1]), ("f", [1, 2]), ("f", [0, 3]), ("join", [2, 3, 4]), ("take", [4, 5]),
        sizes=(64, 32, 8, 24, 32, 8),
    )  # fmt: skip
    told = with_parts(plan, FUNCTIONS, 4)
    assert [call.function for call in told.calls] == ["f", "f"]
    assert told.parts == {1: (0, 16), 2: (4, 0), 3: (4, 8), 5: (4, 16)}
    plan = planned(("take", [0, 1]), ("take", [1, 2]), sizes=(64, 48, 8))
    assert with_parts(plan, FUNCTIONS, 4).parts == {1: (0, 16), 2: (0, 32)}
    plan = planned(("take", [0, 1]), ("join", [1, 2, 3]), sizes=(64, 32, 8, 40))
    once = with_parts(plan, FUNCTIONS, 4)
    assert [call.function for call in once.calls] == ["join"]
    assert with_parts(once, FUNCTIONS, 4) == once


@pytest.mark.parametrize(
    "call",
    [("join", [0, 1, 2]), ("join", [0, 0, 2]), ("take", [Input(0), 1])],
    ids=["not aligned", "twice", "an input"],
)
def test_what_cannot_lie_there_is_copied(call: tuple[str, list[Any]]) -> None:
    plan = planned(call, sizes=(6, 6, 12))
    assert with_parts(plan, FUNCTIONS, 4) == plan
