import numpy as np
import tvm as installed

from tests.support.modules import adder
from tvm_qnn import relay
from tvm_qnn.relay import tvm


def test_names_that_objects_had() -> None:
    x = relay.var("x", shape=(2, 3), dtype="int8")
    assert x.name_hint == "x"
    assert x.type_annotation == x.checked_type == relay.TensorType((2, 3), "int8")
    assert relay.const(np.arange(3)).data.numpy().tolist() == [0, 1, 2]
    assert isinstance(relay.const(1), relay.Constant)  # type: ignore[arg-type]
    assert relay.Constant(installed.runtime.tensor(np.arange(3))).data.shape == (3,)
    assert isinstance(relay.Function([x], x), relay.Function)  # type: ignore[arg-type]
    pair = relay.Tuple([x, x]).checked_type
    assert pair == relay.TupleType([relay.TensorType((2, 3), "int8")] * 2)
    assert not isinstance(x, relay.Function)  # type: ignore[arg-type]
    assert "R.function" in adder().astext()
    x = relay.var("x", shape=(2, 3), dtype="int8")
    mod = tvm.IRModule.from_expr(relay.nn.relu(x))
    assert isinstance(mod, tvm.IRModule)
    assert isinstance(mod, installed.IRModule)
    assert tvm.IRModule.from_expr(mod) is mod
    assert not isinstance(x, tvm.IRModule)
    assert len(tvm.IRModule({}).functions) == 0


def test_the_body_of_a_function_is_an_operand() -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    body = tvm.IRModule.from_expr(relay.nn.relu(relay.negative(x)))["main"].body
    bias = relay.var("bias", shape=(4,), dtype="float32")
    result = relay.add(relay.add(bias, body), bias)
    assert [each.name_hint for each in relay.analysis.free_vars(result)] == ["bias", "x"]
    data = np.array([1, -1, 2, -2], np.float32)
    function = relay.Function([x, bias], result)
    computed = relay.create_executor().evaluate(function)(data, np.ones(4, np.float32))
    assert computed.numpy().tolist() == [2, 3, 2, 4]
