"""Averages of images in blocks of channels: ONNX Runtime says which those are."""

from pathlib import Path

import numpy as np
import pytest

from frontends.onnx.graph.shapes import with_shapes
from frontends.onnx.normalize.blocks import state_averages
from tests.support.onnx_graphs import Net, Node, onnx, onnxruntime

WINDOW = {"kernel_shape": [2, 2]}
RNG = np.random.default_rng(6)
CONSTANTS = {
    **{f"w{n}": RNG.normal(size=(32, n, 1, 1)).astype(np.float32) for n in (1, 3, 16, 20, 30, 32)},
    "w20x": RNG.normal(size=(20, 32, 1, 1)).astype(np.float32),
    "c": RNG.uniform(1, 2, (32, 1, 1)).astype(np.float32),
    "b": RNG.uniform(1, 2, 32).astype(np.float32),
    "low": np.float32(0),
    "high": np.float32(6),
    "one": np.ones((1, 1), np.float32),
}
CONV: Node = ("Conv", "x w32 b", "h")
OTHER: Node = ("Conv", "x w32", "o")
POOL: Node = ("MaxPool", "x", "h", WINDOW)
SCALED: Node = ("BatchNormalization", "h b b b b", "a")
KEPT = ("HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Sigmoid", "Tanh")
CHAINS: dict[str, tuple[list[Node], int]] = {
    "input": ([], 32),
    "input of 20 channels": ([], 20),
    "function of the input": ([("Relu", "x", "y")], 32),
    "convolution": ([("Conv", "x w32 b", "y")], 32),
    **{f"{n} channels": ([("Conv", f"x w{n} b", "y")], n) for n in (3, 20, 30)},
    "20 results": ([("Conv", "x w20x", "y")], 32),
    "depthwise": ([("Conv", "x w1 b", "y", {"group": 32})], 32),
    "two groups": ([("Conv", "x w16", "y", {"group": 2})], 32),
    "small groups": ([("Conv", "x w3", "y", {"group": 8})], 24),
    "computed weights": ([("Neg", "w32", "v"), ("Neg", "x", "n"), ("Conv", "n x", "y")], 32),
    "maxima": ([("Abs", "x", "a"), ("MaxPool", "a", "y", WINDOW)], 32),
    "averages": ([("Abs", "x", "a"), ("AveragePool", "a", "y", WINDOW)], 32),
    "maxima of 20 channels": ([("Abs", "x", "a"), ("MaxPool", "a", "y", WINDOW)], 20),
    **{f"convolution, {op}": ([CONV, (op, "h", "y")], 32) for op in (*KEPT, "Abs", "Elu")},
    **{f"pool, {op}": ([POOL, (op, "h", "y")], 32) for op in KEPT},
    "clip": ([CONV, ("Clip", "h low high", "y")], 32),
    "relu, clip": ([CONV, ("Relu", "h", "a"), ("Clip", "a low high", "y")], 32),
    "sigmoid, clip": ([CONV, ("Sigmoid", "h", "a"), ("Clip", "a low high", "y")], 32),
    "pool, clip": ([POOL, ("Clip", "h low high", "y")], 32),
    "clip of two readers": ([CONV, ("Clip", "h low high", "y"), ("Neg", "h", "z")], 32),
    "computed bound": ([CONV, ("ReduceMin", "x", "m", {"keepdims": 0}), ("Clip", "h m", "y")], 32),
    "normalization, clip": ([CONV, SCALED, ("Clip", "a low high", "y")], 32),
    "pool, normalization": ([POOL, SCALED, ("Relu", "a", "y")], 32),
    "pool, normalization, clip": ([POOL, SCALED, ("Clip", "a low high", "y")], 32),
    "bias": ([CONV, ("Add", "h c", "a"), ("Clip", "a low high", "y")], 32),
    "bias first": ([CONV, ("Add", "c h", "y")], 32),
    "bias of a pool": ([POOL, ("Add", "h c", "y")], 32),
    "scales, clip": ([CONV, ("Mul", "h c", "a"), ("Clip", "a low high", "y")], 32),
    "scales first": ([CONV, ("Mul", "c h", "y")], 32),
    "scales first, clip": ([CONV, ("Mul", "c h", "a"), ("Clip", "a low high", "y")], 32),
    "one factor, clip": ([CONV, ("Mul", "h high", "a"), ("Clip", "a low high", "y")], 32),
    "one factor of a pool": ([POOL, ("Mul", "h high", "y")], 32),
    "swish": ([CONV, ("Sigmoid", "h", "a"), ("Mul", "h a", "y")], 32),
    "factor for each image": ([CONV, ("GlobalMaxPool", "h", "a"), ("Mul", "h a", "y")], 32),
    "sum for each image": ([CONV, ("GlobalMaxPool", "h", "a"), ("Add", "h a", "y")], 32),
    "sum": ([CONV, OTHER, ("Add", "h o", "a"), ("Relu", "a", "y")], 32),
    "sum, clip": ([CONV, OTHER, ("Add", "h o", "a"), ("Clip", "a low high", "y")], 32),
    "sum of three": ([CONV, OTHER, ("Sum", "h o h", "y")], 32),
    "sum with the input": ([CONV, ("Add", "h x", "y")], 32),
    "difference": ([CONV, OTHER, ("Sub", "h o", "y")], 32),
    "cast": ([CONV, ("Cast", "h", "a", {"to": 1}), ("Clip", "a low high", "y")], 32),
    "cast of two readers": (
        [CONV, ("Cast", "h", "a", {"to": 1}), ("Clip", "a low high", "y"), ("Neg", "h", "z")],
        32,
    ),
    "cast of the input": ([("Cast", "x", "y", {"to": 1})], 32),
    "input times 1": ([("Mul", "x one", "y")], 32),
    "half": ([CONV, ("Cast", "h", "a", {"to": 10}), ("Cast", "a", "y", {"to": 1})], 32),
    "plus 0": ([CONV, ("Add", "h low", "a"), ("Clip", "a low high", "y")], 32),
    "0 plus": ([CONV, ("Add", "low h", "y")], 32),
    "minus 0": ([CONV, ("Sub", "h low", "y")], 32),
    "0 minus": ([CONV, ("Sub", "low h", "y")], 32),
    "times 1": ([POOL, ("Mul", "h one", "y")], 32),
    "divided by 1": ([POOL, ("Div", "h one", "y")], 32),
    "divided by 6": ([POOL, ("Div", "h high", "y")], 32),
    "1 divided": ([POOL, ("Div", "one h", "y")], 32),
    "joined": ([CONV, OTHER, ("Concat", "h o", "y", {"axis": 1})], 32),
    "joined along rows": ([CONV, OTHER, ("Concat", "h o", "y", {"axis": 2})], 32),
    "joined with the input": ([CONV, ("Concat", "h x", "y", {"axis": 1})], 32),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_same_averages_as_in_onnx_runtime(name: str, tmp_path: Path) -> None:
    nodes, channels = CHAINS[name]
    data = {"x": np.zeros((1, channels, 4, 4), np.float32)}
    average: Node = ("GlobalAveragePool", "y" if nodes else "x", "mean")
    model = Net([*nodes, average], data, CONSTANTS).model
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    theirs = onnx.load(options.optimized_model_filepath).graph.node
    (wanted,) = (node for node in theirs if node.op_type == "GlobalAveragePool")
    graph = with_shapes(model, None)
    state_averages(graph)
    (found,) = (node for node in graph.node if node.op_type == "GlobalAveragePool")
    assert bool(found.attribute) == wanted.domain.endswith("nchwc")
