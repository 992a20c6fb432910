import sys
from typing import Any

import numpy as np
import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, onnx, pair
from tvm_qnn.oracle import (
    OnnxRuntimeSession,
    check_onnxruntime,
    onnxruntime_outputs,
    onnxruntime_tensors,
)

DATA = np.array([[-1.0, 0.26, 0.5]], np.float32)


@pytest.fixture
def model() -> Any:
    nodes: list[Node] = [*pair("x s z", "y"), ("Relu", "y", "r")]
    constants = {"s": np.float32(0.5), "z": np.int8(3)}
    return onnx.shape_inference.infer_shapes(Net(nodes, {"x": DATA}, constants).model)


def test_every_quantized_tensor_comes_and_what_is_not_taken_is_told(model: Any) -> None:
    found = onnxruntime_tensors(model, [DATA])
    assert set(found) == {"y_integers", "r"}
    np.testing.assert_array_equal(found["y_integers"], np.array([[1, 4, 4]], np.int8))
    np.testing.assert_array_equal(onnxruntime_outputs(model, [DATA])["r"], found["r"])
    fails("number of inputs: needs 1, got 0", onnxruntime_outputs, model, [])
    fails(
        r"ONNX Runtime rejects the model: .*x", onnxruntime_outputs, model, [DATA.astype(np.int8)]
    )


def test_a_session_knows_inputs_and_outputs_and_numbers_of_numpy(model: Any) -> None:
    session = OnnxRuntimeSession(model, 1)
    assert session.inputs == [TensorInfo("x", (1, 3), "float32")]
    assert session.outputs == [TensorInfo("r", (1, 3), "float32")]
    np.testing.assert_array_equal(session.run([DATA])["r"], [[0, 0.5, 0.5]])
    model = Net([("Neg", "x", "y")], {"x": np.array(0.5, np.float32)}).model
    # An element of an array is no array.
    assert OnnxRuntimeSession(model, 1).run([DATA[0, 2]])["y"] == -0.5


def test_without_onnx_runtime_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    fails("pip install onnxruntime", check_onnxruntime)
