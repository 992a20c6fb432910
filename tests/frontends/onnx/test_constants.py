from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError

pytest.importorskip("onnx", reason="onnx is not installed")

import onnx

from frontends.onnx.constants import constants_of, move_constants


def test_constant_nodes_become_initializers() -> None:
    helper = onnx.helper
    values: dict[str, Any] = {
        "value": onnx.numpy_helper.from_array(np.array([3, 4], np.uint8)),
        "value_float": 0.5,
        "value_floats": [0.5, 2.0],
        "value_int": 7,
        "value_ints": [7, -8],
        "value_string": "text",
    }
    nodes = [helper.make_node("Constant", [], [k], **{k: v}) for k, v in values.items()]
    nodes.append(helper.make_node("Relu", ["value_floats"], ["y"]))
    model = helper.make_model(helper.make_graph(nodes, "g", [], []))
    move_constants(model.graph)
    assert [node.output[0] for node in model.graph.node] == ["value_string", "y"]
    found = constants_of(model)
    assert {name: array.tolist() for name, array in found.items()} == {
        "value": [3, 4],
        "value_float": 0.5,
        "value_floats": [0.5, 2.0],
        "value_int": 7,
        "value_ints": [7, -8],
    }
    assert [array.dtype.name for array in found.values()] == [
        *("uint8", "float32", "float32", "int64", "int64")
    ]


def test_a_constant_of_no_known_dtype_is_told() -> None:
    model = onnx.ModelProto()
    tensor = model.graph.initializer.add()
    tensor.name, tensor.data_type = "w", 77
    with pytest.raises(ModelFormatError, match="the constant 'w': its dtype 77 is unknown"):
        constants_of(model)
