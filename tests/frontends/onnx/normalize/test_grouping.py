"""Quantized operators of a model as groups, and groups whose integers would be others here."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.errors import fails
from tests.support.onnx_networks import Network, Style

onnx = pytest.importorskip("onnx", reason="onnx is not installed")


def small() -> Any:
    net = Network(Style("uint8", "int8", per_channel=False, qdq=True), (1, 3, 6, 6), 0)
    return net.model(net.conv(net.input, 4))


def test_operators_beside_scales_of_a_run_are_refused() -> None:
    model = small()
    convolution = next(node for node in model.graph.node if node.op_type == "Conv")
    reader = next(n for n in model.graph.node if n.output[0] == convolution.input[0])
    value = onnx.helper.make_tensor_value_info("scale", onnx.TensorProto.FLOAT, ())
    model.graph.input.append(value)
    reader.input[1] = "scale"
    with pytest.raises(UnsupportedOperatorError, match="DequantizeLinear: an operator beside it"):
        from_onnx(model)


def test_operators_beside_scales_of_blocks_are_refused() -> None:
    model = small()
    model.opset_import[0].version = 21
    convolution = next(node for node in model.graph.node if node.op_type == "Conv")
    reader = next(n for n in model.graph.node if n.output[0] == convolution.input[0])
    scales = np.ones((1, 3, 6, 1), np.float32)
    for name, array in (("blocks", scales), ("points", scales.astype(np.uint8))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    reader.input[1], reader.input[2] = "blocks", "points"
    del reader.attribute[:]
    reader.attribute.append(onnx.helper.make_attribute("axis", 3))
    reader.attribute.append(onnx.helper.make_attribute("block_size", 6))
    fails("with a scale or zero point that is no", from_onnx, model, error=UnsupportedOperatorError)
