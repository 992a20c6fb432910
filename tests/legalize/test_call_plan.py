from collections.abc import Callable, Sequence

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize import calls_pipeline, lower
from legalize.call_plan import Constant, Input, NotCallsError, Output, Plan, Temporary, plan_of
from tests.support.errors import fails
from tests.support.modules import module

INT8 = relax.TensorType((2, 3), "int8")
TARGET = tvm.target.Target("llvm")


def planned(
    inputs: dict[str, relax.Type], body: Callable[..., relax.Expr | Sequence[relax.Expr]]
) -> Plan:
    with TARGET:
        return plan_of(calls_pipeline(TARGET)(lower(module(inputs, body), TARGET)))


def places(plan: Plan) -> list[tuple[object, ...]]:
    return [call.arguments for call in plan.calls]


def test_calls_read_inputs_and_constants_and_write_outputs() -> None:
    table = np.arange(6, dtype=np.int8).reshape(2, 3)
    plan = planned({"x": INT8}, lambda x: R.add(x, relax.const(table)))
    assert places(plan) == [(Input(0), Constant(0), Output(0))]
    np.testing.assert_array_equal(plan.constants[0].numpy(), table)


def test_equal_constants_are_one() -> None:
    def body(x: relax.Var) -> relax.Expr:
        tables = (relax.const(np.arange(6, dtype=np.int8).reshape(2, 3)) for _ in range(2))
        return [R.add(x, table) for table in tables]

    plan = planned({"x": INT8}, body)
    assert len(plan.constants) == 1


def test_what_lies_between_two_calls_is_temporary() -> None:
    # A sum over an axis does not become one function with another.
    types = {"x": relax.TensorType((2, 3, 5), "int32")}
    plan = planned(types, lambda x: R.sum(R.sum(x, axis=[2]), axis=[1]))
    assert places(plan) == [(Input(0), Temporary(0)), (Temporary(0), Output(0))]
    assert plan.temporaries[0] == 2 * 3 * 4


@pytest.mark.parametrize(
    ("body", "copies"),
    [
        (lambda x: x, [(Output(0), Input(0))]),
        (lambda x: [R.reshape(x, (6,)), x], [(Output(0), Input(0)), (Output(1), Input(0))]),
        (lambda x: relax.const(np.array([1], np.int8)), [(Output(0), Constant(0))]),
    ],
    ids=["input", "reshaped input", "constant"],
)
def test_a_result_that_no_call_writes_is_copied(
    body: Callable[[relax.Var], relax.Expr], copies: list[tuple[object, object]]
) -> None:
    plan = planned({"x": INT8}, body)
    assert [call.arguments for call in plan.calls if call.function is None] == copies


def test_a_result_that_is_wanted_twice_is_copied_once_more() -> None:
    def body(x: relax.Var) -> list[relax.Expr]:
        total = R.sum(x, axis=[1])
        return [R.reshape(total, (2, 1)), R.reshape(total, (1, 2))]

    plan = planned({"x": relax.TensorType((2, 3), "int32")}, body)
    assert places(plan)[-1] == (Output(1), Output(0))


def test_what_is_no_call_of_loops_is_refused_by_name() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", INT8)
    with builder.function("main", [x]):
        builder.emit_func_output(
            builder.emit(relax.call_pure_packed("vm.builtin.sort", x, ty_args=[INT8]))
        )
    mod = relax.transform.RemovePurityChecking()(builder.get())
    with pytest.raises(NotCallsError) as caught:
        plan_of(mod)
    assert caught.value.what == "vm.builtin.sort"


def test_shapes_must_be_known() -> None:
    n = tvm.tirx.Var("n", "int64")
    types = {"x": relax.TensorType((n, 3), "int8")}
    fails("must have a shape known at compile time", planned, types, lambda x: R.add(x, x))


def test_a_tuple_that_is_given_is_refused() -> None:
    builder = relax.BlockBuilder()
    pair = relax.Var("pair", relax.TupleType([INT8, INT8]))
    with builder.function("main", [pair]):
        builder.emit_func_output(builder.emit(relax.TupleGetItem(pair, 1)))
    fails("a tuple that is given", plan_of, builder.get(), error=NotCallsError)


def test_a_view_is_another_name_of_a_temporary_tensor() -> None:
    """Not of an input, whose memory is not the model's."""
    types = {"x": relax.TensorType((2, 3), "int32")}
    with TARGET:
        mod = calls_pipeline(TARGET)(
            lower(module(types, lambda x: R.sum(R.sum(x, axis=[1]), axis=[0])), TARGET)
        )
    first, second = plan_of(mod).calls
    assert first.arguments == (Input(0), Temporary(0))
    assert second.arguments == (Temporary(0), Output(0))
    viewed = plan_of(mod, is_view=lambda function: True)
    assert [call.arguments for call in viewed.calls] == [(Input(0), Output(0))]
