import numpy as np

from tests.support.errors import fails
from tests.support.modules import adder
from tvm_qnn import relay
from tvm_qnn.zoo import build as zoo


def test_a_function_is_a_module_and_parameters_are_constants() -> None:
    x = relay.var("x", shape=(3,), dtype="float32")
    assert relay.build(relay.Function([x], relay.nn.relu(x)), "llvm").library.inputs[0].name == "x"
    x, w = relay.var("x", (3,)), relay.var("w", (3,))
    function = relay.Function([x, w], relay.add(x, w))
    weights = np.array([1, 2, 3], np.float32)
    bound = relay.build_module.bind_params_by_name(function, {"w": weights, "unused": weights})
    assert [each.name_hint for each in bound.params] == ["x"]
    found = relay.build_module.create_executor().evaluate(bound)(weights)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(found.numpy(), 2 * weights)


def test_arguments_that_are_missing_or_misspelled_are_named() -> None:
    mod, params = relay.frontend.from_tflite(zoo("mobilenet_v1", "uint8", tiny=True))
    assert params
    fails(r"constants are missing: .*params=params", relay.build, mod, "llvm")
    fails("parms", relay.build, adder(), "llvm", parms={}, error=TypeError)
    mod = adder()
    assert relay.optimize(mod, "llvm", {"w": 1}) == (mod, {"w": 1})


def test_one_target_is_needed() -> None:
    fails("one target is needed, got 2", relay.build, adder(), {"cpu": "llvm", "cuda": "cuda"})
