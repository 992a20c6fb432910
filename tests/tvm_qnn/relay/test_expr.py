from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn import relay
from tvm_qnn.relay.expr import number


def test_calls_that_stand_in_each_other_become_bindings_used_twice_bound_once() -> None:
    x = relay.var("x", shape=(1, 4), dtype="float32")
    inner = relay.clip(x, 0, 3)
    function = relay.Function([x], relay.Tuple([relay.nn.relu(inner), inner]))

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 4), "float32")) -> R.Tuple(
            R.Tensor((1, 4), "float32"), R.Tensor((1, 4), "float32")
        ):
            with R.dataflow():
                a = R.clip(x, 0, 3)
                b = R.nn.relu(a)
                c = (b, a)
                R.output(c)
            return c

    tvm.ir.assert_structural_equal(tvm.IRModule.from_expr(function), Expected)


def test_a_deep_network_does_not_overflow_the_stack() -> None:
    x = expr = relay.var("x", shape=(2,), dtype="float32")
    for _ in range(2000):
        expr = relay.nn.relu(expr)
    function = relay.Function([x], expr)
    assert len(function.body.blocks[0].bindings) == 2001


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [(3, None, "int32"), (0.5, None, "float32"), (True, None, "bool"), (1, "uint8", "uint8")],
)
def test_constants_of_numbers(value: float, dtype: str | None, expected: str) -> None:
    constant = relay.const(value, dtype)
    assert constant.ty.dtype == expected
    assert constant.value.numpy() == value


def test_variables_and_constants_of_a_type() -> None:
    array = np.arange(3, dtype=np.int64)
    assert relay.const(array).ty.dtype == "int64"
    assert relay.const(tvm.runtime.tensor(array), "int8").ty.dtype == "int8"
    kind = relay.TensorType((2, 3), "int8")
    assert relay.var("x", kind).checked_type == kind == relay.var("x", (2, 3), "int8").ty
    assert relay.var("x", shape=3).ty == relay.TensorType((3,))


def test_scales_are_constants_and_bodies_expressions() -> None:
    assert number("scale", relay.const(0.5)) == 0.5
    assert number("scale", np.array([1.0, 2.0])) == [1.0, 2.0]
    with pytest.raises(QnnError, match="scale must be a constant, got Var"):
        number("scale", relax.Var("s", relax.TensorType((), "float32")))
    fails("scale must be a constant, got str", number, "scale", "0.5")
    fails("Function: body must be a Relax expression, got int", relay.Function, [], 3)


@pytest.mark.parametrize("size", [None, "n", -1])
def test_a_size_that_is_not_known_is_named(size: Any) -> None:
    message = r"a size is a number or relay\.Any\(\), got "
    fails(message, relay.var, "x", shape=(size, 3))
    fails(message, relay.TensorType, (size, 3))


def test_any_is_a_size_that_each_run_decides() -> None:
    any_type = relay.TensorType((relay.Any(), 3, relay.Any()), "int8")
    x, y = relay.var("x", any_type), relay.var("y", shape=(3, 1), dtype="int8")
    one, two = relay.const(0.5), relay.const(2)
    scaled = relay.qnn.op.requantize(x, one, two, one, two, out_dtype="int8")
    function = relay.Function([x, y], relay.add(scaled, y))
    lib = relay.build(tvm.IRModule.from_expr(function), target="llvm")
    module = relay.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    assert str(module.get_input_info()[0]["x"]) == "(x_0, 3, x_2)"
    added = np.arange(3, dtype=np.int8)[:, None]
    for shape in ((1, 3, 5), (4, 3, 2)):
        data = np.full(shape, 7, np.int8)
        module.set_input(x=data, y=added)
        module.run()
        np.testing.assert_array_equal(module.get_output(0).numpy(), data + added)
    with pytest.raises(QnnError, match=r"input 'x' has shape \(x_0, 3, x_2\), got \(4, 2, 2\)"):
        module.set_input("x", np.zeros((4, 2, 2), np.int8))
