import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tvm_qnn
from frontends.tflite import from_tflite
from legalize.call_plan import Call, Input, Output, Place, Plan, Temporary
from legalize.image_rows import JOINS, TAKES
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tests.support.tflite import Sheet, x
from tests.tvm_qnn.standalone.test_facts import SIGNATURE
from tvm_qnn import digits
from tvm_qnn.build import _bind, _lower, export_c
from tvm_qnn.standalone.arrangement import (
    Arena,
    LargestSizeWarning,
    _with_arena,
    _with_scratch,
    arrange,
    with_parts,
)
from tvm_qnn.target.target import parse_target


def test_scratch_is_memory_of_one_call() -> None:
    plan = Plan(
        (Call("f", (Input(0), Temporary(0))), Call("f", (Temporary(0), Output(0)))), (), (8,)
    )
    plan = _with_scratch(plan, {"f": (100, 200)})
    assert [call.arguments for call in plan.calls] == [
        (Input(0), Temporary(0), Temporary(1), Temporary(2)),
        (Temporary(0), Output(0), Temporary(3), Temporary(4)),
    ]
    assert plan.temporaries == (8, 100, 200, 100, 200)


def test_an_arena_has_inputs_and_outputs_but_no_states() -> None:
    plan = Plan((Call("f", (Input(0), Input(2), Temporary(0), Output(1), Output(2))),), (), (8,))
    plan, arena = _with_arena(plan, SIGNATURE)
    assert arena == Arena((1, 2), (3, 4))
    (call,) = plan.calls
    assert call.arguments == (Temporary(1), Input(2), Temporary(0), Temporary(4), Output(2))
    assert plan.temporaries == (8, 6, 1, 4000, 6)


def test_tensors_lie_over_others_in_an_arena_alone() -> None:
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    bound = _bind(mod, params)
    target = parse_target("cortex-m4")
    lowered = _lower(bound, target, kernels=True)
    beside, over = (
        arrange(lowered, signature_of(bound), target, "m", arena=arena) for arena in (False, True)
    )
    assert not beside.shared
    assert over.shared
    assert over.layout.size < beside.layout.size
    for call in over.plan.calls:
        members = over.members_of(call)
        params = over.compiled.functions[call.function or ""].params
        kinds = {str(params[i].dtype) for i in members}
        assert len(kinds) < 2


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


def model() -> bytes:
    sheet = Sheet()
    flat = sheet.made("RESHAPE", x(2, 3, 4), [-1, 12])
    return sheet.add("ADD", flat, flat).model()


def test_c_code_takes_the_largest_sizes(tmp_path: Path) -> None:
    texts = []
    for folder, batch in (("open", range(1, 6)), ("fixed", 5)):
        mod, params = from_tflite(model(), {"x1": ("batch", 3, 4), "batch": batch})
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "model"
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            export_c(mod, "cortex-m4", params, path)
        told = [str(each.message) for each in found if each.category is LargestSizeWarning]
        is_open = folder == "open"
        assert told == ["C code takes the largest sizes: batch is 5"] * is_open
        texts.append({each.name: each.read_bytes() for each in path.parent.rglob("*.[ch]")})
    assert texts[0] == texts[1] != {}


def test_a_size_without_a_bound_is_one_error(tmp_path: Path) -> None:
    mod, params = from_tflite(model(), {"x1": ("batch", 3, 4)})
    with pytest.raises(QnnError, match=r"give shape_dict those of batch of input 'x1' \(1 or more"):
        export_c(mod, "cortex-m4", params, tmp_path / "model")
