import tvm_qnn
from legalize.call_plan import Call, Input, Output, Plan, Temporary
from qnn_ops.dialect.signature import signature_of
from tests.tvm_qnn.standalone.test_facts import SIGNATURE
from tvm_qnn import digits
from tvm_qnn.build import _bind, _lower
from tvm_qnn.standalone.arrangement import Arena, _with_arena, _with_scratch, arrange
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
