"""Conv and ConvInteger, and the windows and padding of convolutions and pools."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
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
