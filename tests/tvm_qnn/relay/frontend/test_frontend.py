"""``relay.frontend`` and its modules."""

import numpy as np
import onnx
import pytest

from qnn_ops.errors import QnnError
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor
from tvm_qnn.relay.frontend import mxnet_qnn_op_utils as utils
from tvm_qnn.relay.frontend import pytorch_utils
from tvm_qnn.relay.frontend.common import infer_shape, infer_type


def test_importers_are_listed() -> None:
    importers = {"from_mxnet", "from_onnx", "from_pytorch", "from_tflite"}
    assert importers == {*relay.frontend.__all__} <= {*dir(relay.frontend)}


def test_an_onnx_model() -> None:
    helper = onnx.helper
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    mod, params = relay.frontend.from_onnx(model, shape={"x": (2, 3)}, freeze_params=True)
    executor = graph_executor.GraphModule(relay.build(mod, "llvm", params=params)["default"]())
    executor.run(x=np.array([[-1, 0, 2], [3, -4, 5]], np.float32))
    assert executor.get_output(0).numpy().tolist() == [[0, 0, 2], [3, 0, 5]]


@pytest.mark.torch
def test_a_module_is_exported_with_its_inputs() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    module = torch.nn.Linear(4, 3).eval()
    for infos in ([("data", (2, 4))], [("data", ((2, 4), "float32"))]):
        mod, params = relay.frontend.from_pytorch(module, infos)
        executor = graph_executor.GraphModule(relay.build(mod, "llvm", params=params)["default"]())
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        executor.run(data=x)
        expected = module(torch.from_numpy(x)).detach().numpy()
        np.testing.assert_allclose(executor.get_output(0).numpy(), expected, rtol=1e-6)


def test_other_formats_and_dtypes_say_what_to_do() -> None:
    with pytest.raises(QnnError, match=r"write torch\.export\.export"):
        relay.frontend.from_pytorch(object(), [("x", (1, 3))])
    with pytest.raises(QnnError, match="from_keras: convert the model to TFLite or ONNX"):
        relay.frontend.from_keras(None)
    with pytest.raises(AttributeError, match="has no to_onnx"):
        relay.frontend.to_onnx  # noqa: B018
    with pytest.raises(QnnError, match="int8 or uint8, got 'int16'"):
        utils.quantize_mxnet_min_max(relay.var("x", (5,)), -1.0, 1.0, "int16")


def test_types_shapes_and_scales_of_expressions() -> None:
    x = relay.var("x", shape=(2, 3), dtype="int8")
    total = relay.sum(relay.cast(x, "int32"), axis=1)
    assert infer_type(total).checked_type == relay.TensorType((2,), "int32")
    assert infer_shape(total) == (2,)
    assert utils.get_mkldnn_int8_scale(-2.0, 1.0) == np.float32(1 / (np.float32(127.5) / 2))
    assert utils.get_mkldnn_uint8_scale(0.0, 4.0) == np.float32(1 / (np.float32(255.5) / 4))
    assert utils.get_conv_mkldnn_requantized_scale_outDtype(0.0, 4.0) == (
        utils.get_mkldnn_uint8_scale(0.0, 4.0),
        "uint8",
    )
    assert utils.get_conv_mkldnn_requantized_scale_outDtype(-1.0, 4.0)[1] == "int8"


@pytest.mark.parametrize(("dtype", "levels"), [("int8", 127.5), ("uint8", 255.5)])
def test_values_come_back_within_half_a_step(dtype: str, levels: float) -> None:
    x = relay.var("x", (5,))
    integers, scale, point = utils.quantize_mxnet_min_max(x, -1.0, 3.0, dtype)
    assert point == 0
    back = utils.dequantize_mxnet_min_max(integers, -1.0, 3.0, dtype)
    values = np.array([0.0, 0.5, 1.25, 2.0, 2.9], np.float32)
    found = relay.create_executor().evaluate(relay.Function([x], back))(values).numpy()
    assert np.abs(found - values).max() <= 3 / levels / 2 * 1.0001
    assert scale == pytest.approx(3 / levels)


def test_versions_are_compared_by_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch_utils, "version", lambda _package: "2.13.0+cpu")
    assert pytorch_utils.is_version_greater_than("2.9.1")
    assert not pytorch_utils.is_version_greater_than("2.13.0")
