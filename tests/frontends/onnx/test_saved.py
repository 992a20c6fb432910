"""Models as ONNX Runtime writes them when it has optimized them: channels are last."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Net, Node, check_equal, onnx, onnxruntime

RNG = np.random.default_rng(12)
SIZE = (1, 3, 16, 16)


def network(dtype: str) -> Net:
    """Return groups of convolutions, pools, a sum, a product and a concatenation, and the input."""
    low = int(np.iinfo(dtype).min)
    constants: dict[str, Any] = {
        "t": np.float32(0.01),
        "u": np.int8(0),
        "z": np.asarray(low, dtype),
    }
    nodes: list[Node] = []

    def quantized(name: str, scale: float) -> str:
        constants[f"{name}_s"] = np.float32(scale)
        nodes.append(("QuantizeLinear", f"{name} {name}_s z", f"{name}_q"))
        nodes.append(("DequantizeLinear", f"{name}_q {name}_s z", f"{name}_r"))
        return f"{name}_r"

    def weights(name: str, *shape: int) -> str:
        constants[name] = RNG.integers(-127, 128, shape).astype(np.int8)
        nodes.append(("DequantizeLinear", f"{name} t u", f"{name}_r"))
        return f"{name}_r"

    def group(op: str, operands: str, name: str, scale: float, **attributes: Any) -> str:
        nodes.append((op, operands, name, attributes))
        return quantized(name, scale)

    square = {"kernel_shape": [2, 2], "strides": [2, 2]}
    x = quantized("x", 0.05)
    first = group("Conv", f"{x} {weights('w1', 8, 3, 3, 3)}", "c1", 0.1, pads=[1] * 4)
    pooled = group("MaxPool", first, "p", 0.1, **square)
    second = weights("w2", 8, 1, 3, 3)
    deep = group("Conv", f"{pooled} {second}", "c2", 0.1, pads=[1] * 4, group=8)
    summed = group("Add", f"{deep} {pooled}", "a", 0.15)
    mean = group("AveragePool", summed, "m", 0.1, **square)
    gate = group("Sigmoid", mean, "g", 1 / 256)
    joined = group("Concat", f"{group('Mul', f'{gate} {mean}', 'f', 0.1)} {mean}", "j", 0.1, axis=1)
    nodes.append(("Flatten", group("GlobalAveragePool", joined, "o", 0.05), "y"))
    data = {"x": RNG.normal(1, 2, SIZE).astype(np.float32)}
    return Net(nodes, data, constants)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_optimized_models(dtype: str, tmp_path: Path) -> None:
    model, data = network(dtype)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    options.log_severity_level = 3  # it warns that the file fits processors like this one
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    content, providers = model.SerializeToString(), ["CPUExecutionProvider"]
    onnxruntime.InferenceSession(content, options, providers)
    saved = onnx.load(options.optimized_model_filepath)
    assert {"NhwcMaxPool", "QLinearConv"} <= {node.op_type for node in saved.graph.node}
    (expected,) = check_equal(model, data)
    (actual,) = check_equal(saved, data)
    np.testing.assert_array_equal(actual, expected)
    assert len(np.unique(actual)) > 5


def test_data_of_unknown_rank_are_refused() -> None:
    nodes: list[Node] = [
        ("Squeeze", "x", "y"),
        ("QLinearGlobalAveragePool", "y s z s z", "r", {"channels_last": 1}),
    ]
    data = {"x": np.zeros((1, 5, 5, 3), np.uint8)}
    net = Net(nodes, data, {"s": np.float32(0.1), "z": np.uint8(3)})
    net.check_refused("the rank must be known", UnsupportedOperatorError)
