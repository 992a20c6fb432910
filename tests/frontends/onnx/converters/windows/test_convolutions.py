"""Convolutions of rows, images and volumes, and their biases, against ONNX Runtime."""

import warnings
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from legalize.passes.fold_qdq import fold_qdq
from qnn_ops.errors import LeftInFloatWarning
from tests.support.onnx_branches import RNG, Case, Weights, check
from tests.support.onnx_graphs import Held, Net, Node, one, refused


def chain(**window: Any) -> list[Node]:
    return [
        ("DynamicQuantizeLinear", "x", "q sx zx"),
        ("ConvInteger", "q w zx zw", "sums", window),
        ("Cast", "sums", "real", {"to": 1}),
        ("Mul", "sx sw", "factor"),
        ("Mul", "real factor", "product"),
        ("Add", "product bias", "y"),
    ]


WINDOWS: list[dict[str, Any]] = [
    {"pads": [1, 1, 1, 1]},
    {"pads": [0, 1, 2, 0], "strides": [2, 1], "dilations": [1, 2]},
    {"group": 2},
    {"group": 6, "pads": [2, 2, 2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
]


def constants(group: int, dtype: str, rng: np.random.Generator) -> dict[str, Any]:
    info = np.iinfo(dtype)
    return {
        "w": rng.integers(info.min, info.max + 1, (12, 6 // group, 3, 3)).astype(dtype),
        "zw": np.array(0 if dtype == "int8" else 120, dtype),
        "sw": np.float32(0.013),
        "bias": rng.normal(0, 9, (1, 12, 1, 1)).astype(np.float32),
    }


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_chains_of_dynamic_quantization(window: dict[str, Any], dtype: str) -> None:
    rng = np.random.default_rng(1)
    made = constants(window.get("group", 1), dtype, rng)
    data = {"x": rng.normal(0.5, 2, (2, 6, 9, 8)).astype(np.float32)}
    Net(chain(**window), data, made).check()


def test_weights_of_the_file_and_of_the_run() -> None:
    rng = np.random.default_rng(2)
    w, x = constants(1, "int8", rng)["w"], rng.integers(0, 256, (1, 6, 7, 7)).astype(np.uint8)
    one("ConvInteger", x, Held(w), np.uint8(9), **WINDOWS[0]).check()
    one("ConvInteger", x, w, **WINDOWS[0]).check()


def test_planes_of_the_file_s_weights_have_the_kernel() -> None:
    x, w = np.ones((1, 2, 3, 4, 4), np.uint8), np.ones((4, 2, 2, 3, 3), np.int8)
    mod, _ = from_onnx(one("ConvInteger", x, Held(w)).model)
    assert str(mod).count("quantized_conv2d") == 2


@pytest.mark.parametrize("window", [{"pads": [2, 1]}, {"auto_pad": "SAME_UPPER", "group": 3}])
def test_rows(window: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    made = constants(window.get("group", 1), "int8", rng)
    made |= {"w": made["w"][:, :, 0], "bias": made["bias"][..., 0]}
    data = {"x": rng.normal(0.5, 2, (2, 6, 9)).astype(np.float32)}
    Net(chain(**window), data, made).check()
    del made["w"]  # now an input, as a branch may give it
    data |= {"w": rng.integers(-128, 128, (12, 6 // window.get("group", 1), 3)).astype(np.int8)}
    Net(chain(**window), data, made).check()


@pytest.mark.parametrize(
    "window",
    [
        {"pads": [1, 0, 1, 1, 2, 1]},
        {"strides": [2, 1, 2], "dilations": [2, 1, 1], "pads": [3, 1, 0, 2, 0, 1]},
        {"auto_pad": "SAME_UPPER", "group": 3},
    ],
    ids=str,
)
def test_volumes(window: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    group = window.get("group", 1)
    made = constants(group, "uint8", rng)
    weights = rng.integers(0, 256, (12, 6 // group, 2, 3, 3)).astype(np.uint8)
    made |= {"w": weights, "bias": made["bias"][..., np.newaxis]}
    data = {"x": rng.normal(0.5, 2, (2, 6, 4, 7, 5)).astype(np.float32)}
    Net(chain(**window), data, made).check()
    del made["w"]
    Net(chain(**window), data | {"w": weights}, made).check()


BEYOND = [np.zeros((2, 6, 3, 3, 3, 3), np.uint8) for _ in "xw"]
test_more_dimensions_are_refused = refused(
    ("ConvInteger: its window must have one to three dimensions", one("ConvInteger", *BEYOND)),
    error=UnsupportedOperatorError,
)


DEPTH = 4


def conv(
    kernel: list[int], units: int = 6, bias: str = "int32", scale: float = 3.0, **attributes: Any
) -> Case:
    groups = attributes.get("group", 1)
    values = RNG.integers(-127, 128, (units, DEPTH // groups, *kernel)).astype(np.int8)
    scales = RNG.choice([0.0078125, 0.0113, 0.25], units).astype(np.float32)
    operands: list[Any] = ["x", Weights(values, scales)]
    if bias == "int32":
        # As a bias must be, its steps are those of the sums; x has 0.0625.
        steps = RNG.integers(-3000, 3000, units).astype(np.int32)
        operands.append(Weights(steps, np.float32(0.0625) * scales))
    elif bias == "float":
        operands.append(RNG.normal(0, 20, units).astype(np.float32))
    return Case("Conv", tuple(operands), {"kernel_shape": kernel, **attributes}, scale)


IMAGES = {
    "asymmetric": conv([3, 3], pads=[0, 1, 2, 0], strides=[2, 1]),
    "same upper": conv([3, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
    "same lower": conv([2, 4], auto_pad="SAME_LOWER", strides=[1, 2]),
    "valid": conv([2, 2], auto_pad="VALID", bias=""),
    "float bias": conv([1, 1], bias="float"),
    "groups": conv([3, 3], 8, group=2, pads=[1, 1, 1, 1], bias="float"),
    "depthwise": conv([3, 3], 8, group=4, auto_pad="SAME_UPPER"),
}
ROWS = {
    "row": conv([3]),
    "padded row": conv([3], pads=[2, 1], strides=[2], dilations=[2], bias="float"),
    "grouped row": conv([5], 8, group=4, auto_pad="SAME_UPPER", bias=""),
    "row pool": Case("MaxPool", ("x",), {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
    "row average": Case(
        "AveragePool", ("x",), {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}, 0.05
    ),
    "row mean": Case("GlobalAveragePool", ("x",), {}, 0.02),
}
VOLUMES = {
    "volume": conv([2, 3, 3]),
    "padded volume": conv([3, 2, 1], pads=[1, 0, 2, 2, 1, 0], strides=[2, 1, 2], bias="float"),
    "dilated volume": conv([2, 2, 2], dilations=[2, 1, 2], bias=""),
    "volume of the same size": conv([2, 3, 2], auto_pad="SAME_UPPER", strides=[2, 1, 1]),
    "grouped volume": conv([2, 2, 2], 8, group=2),
    "volume pool": Case("MaxPool", ("x",), {"kernel_shape": [2, 3, 2], "pads": [1] * 6}),
    "volume mean": Case("GlobalAveragePool", ("x",), {}, 0.02),
}
SHAPES: dict[str, tuple[dict[str, Case], tuple[int, ...]]] = {
    "images": (IMAGES, (2, DEPTH, 8, 9)),
    "rows": (ROWS, (2, DEPTH, 33)),
    "volumes": (VOLUMES, (2, DEPTH, 5, 6, 7)),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("name", SHAPES)
def test_convolutions(name: str, dtype: str) -> None:
    cases, shape = SHAPES[name]
    assert not check(cases, dtype, 0.0625, shape)


DRAWN = np.random.default_rng(5)
DATA = {"q": DRAWN.integers(0, 256, (1, 4, 6, 6)).astype(np.uint8)}
STEP = 2.0**-12
"""Of data times weights: sums of floats are exact."""


def model(scale: Any, point: int = 0) -> Net:
    scales = np.asarray(scale, np.float32)
    nodes = [
        ("DequantizeLinear", "q sx zx", "x"),
        ("DequantizeLinear", "w sw", "weights"),
        ("DequantizeLinear", "b sb zb", "bias", {"axis": 0} if scales.ndim else {}),
        ("Conv", "x weights bias", "y"),
        ("QuantizeLinear", "y sy zx", "r"),
    ]
    constants = {
        "sx": np.float32(2.0**-5),
        "zx": np.uint8(120),
        "w": DRAWN.integers(-127, 128, (3, 4, 3, 3)).astype(np.int8),
        "sw": np.float32(2.0**-7),
        "b": np.array([900, -4000, 2500], np.int32),
        "sb": scales,
        "zb": np.full(scales.shape, point, np.int32),
        "sy": np.float32(0.061),
    }
    return Net(nodes, DATA, constants)


@pytest.mark.parametrize("scale", [STEP, STEP * 1.009, STEP + 3e-6, [STEP] * 3])
def test_what_is_near_is_a_bias_of_integers(scale: Any) -> None:
    model(scale).check()


@pytest.mark.parametrize(
    ("scale", "point"), [(STEP * 2, 0), (STEP / 4, 0), ([STEP, STEP, STEP * 4], 0), (STEP, 3)]
)
def test_what_is_far_leaves_the_convolution_in_float(scale: Any, point: int) -> None:
    far = model(scale, point)
    far.check(in_float=True)
    with pytest.warns(LeftInFloatWarning, match="the scale of the bias is not that of data"):
        fold_qdq(from_onnx(far.model)[0])


def test_where_the_tolerance_ends() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fold_qdq(from_onnx(model(STEP + 3.4e-6).model)[0])
    with pytest.warns(LeftInFloatWarning):
        fold_qdq(from_onnx(model(STEP + 3.5e-6).model)[0])
