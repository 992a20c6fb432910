import numpy as np
import pytest

from tests.support.errors import fails
from tvm_qnn import relay


def test_a_let_binds_a_value_to_a_variable() -> None:
    x, y = relay.var("x", (4,)), relay.var("y", (4,))
    halves = relay.split(relay.multiply(y, y), 2)
    body = relay.add(relay.TupleGetItem(halves, 1), relay.const(1.0))
    function = relay.Function([x], relay.Let(y, relay.add(x, x), body))
    data = np.arange(4, dtype=np.float32)
    result = relay.create_executor().evaluate(function)(data).numpy()
    np.testing.assert_array_equal(result, (2 * data[2:]) ** 2 + 1)


@pytest.mark.parametrize("value", [True, False])
def test_an_if_gives_one_of_two_tensors(value: bool) -> None:
    x, cond = relay.var("x", (3,)), relay.var("cond", shape=(), dtype="bool")
    chosen = relay.If(cond, relay.add(x, relay.const(1.0)), relay.negative(x))
    data = np.arange(3, dtype=np.float32)
    evaluate = relay.create_executor().evaluate(relay.Function([x, cond], chosen))
    expected = data + 1 if value else -data
    np.testing.assert_array_equal(evaluate(data, np.array(value)).numpy(), expected)


def test_tensors_that_differ_are_refused() -> None:
    x, cond = relay.var("x", (3,)), relay.var("cond", shape=(), dtype="bool")
    fails("two tensors alike", relay.If, cond, x, relay.var("y", (4,)))
    fails("needs a bool", relay.If, x, x, x)
