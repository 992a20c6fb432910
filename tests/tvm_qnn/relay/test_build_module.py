from __future__ import annotations

import json

import pytest
import tvm

from qnn_ops.errors import QnnError
from tests.support.modules import adder
from tvm_qnn import relay
from tvm_qnn.zoo import build as zoo


def test_a_target_by_device() -> None:
    lib = relay.build(adder(), {"cpu": "llvm"})
    assert lib.get_lib() is lib
    assert lib.get_params() == {}
    names = [info["name"] for info in json.loads(lib.get_graph_json())["inputs"]]
    assert names == ["x", "w"]
    with pytest.raises(QnnError, match="one target is needed, got 2"):
        relay.build(adder(), {"cpu": "llvm", "cuda": "cuda"})


def test_a_function_is_a_module() -> None:
    x = relay.var("x", (3,), "float32")
    assert relay.build(relay.Function([x], relay.nn.relu(x)), "llvm").library.inputs[0].name == "x"


def test_missing_parameters_are_named() -> None:
    mod, params = relay.frontend.from_tflite(zoo("mobilenet_v1", "uint8", tiny=True))
    assert params
    with pytest.raises(QnnError, match=r"constants are missing: .*params=params"):
        relay.build(mod, "llvm")


def test_other_entries_and_devices() -> None:
    lib = relay.build(adder(), "llvm")
    with pytest.raises(QnnError, match="entry 'default', not 'main'"):
        lib["main"]
    with pytest.raises(QnnError, match="not on cuda"):
        lib["default"](tvm.cuda(0))
