"""What the package onnx lets pass, and must not be imported."""

import re
from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError, UnsupportedOperatorError

pytest.importorskip("onnx", reason="onnx is not installed")

import onnx

from frontends.onnx import from_onnx
from tests.fuzz.corpus.onnx_cases import model
from tests.support.errors import fails

FLOAT8 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.FLOAT8E5M2)


@pytest.mark.parametrize(
    ("constants", "text"),
    [
        ({"sx": np.float32(0)}, "scales must be positive and finite, got 0.0"),
        (
            {"sw": np.array([1, np.nan, 1, 1], np.float32)},
            "scales must be positive and finite, got nan",
        ),
        ({"sw": np.ones(3, np.float32)}, "3 scales along axis 1 of data of shape [4, 2, 1, 1]"),
        ({"zw": np.zeros(4, np.int8)}, "it has 1 scales and 4 zero points"),
        ({"zx": np.int8(3)}, "its data are uint8, its zero point is int8"),
        ({"w": np.zeros((4, 2, 1, 1), FLOAT8), "zw": np.ones((), FLOAT8)}, "float8_e5m2 is not"),
        ({"w": np.zeros((4, 3, 1, 1), np.int8)}, "1 groups of weights of shape [4, 3, 1, 1]"),
        ({"w": np.zeros((4, 2, 2, 2), np.int8)}, "kernel_shape [1, 1] for weights of shape"),
    ],
)
def test_operands_that_do_not_fit(constants: dict[str, Any], text: str) -> None:
    fails(re.escape(text), from_onnx, model(**constants), error=UnsupportedOperatorError)


def test_a_number_that_tvm_would_cut() -> None:
    made = model()
    made.graph.node[2].attribute.append(onnx.helper.make_attribute("group", (1 << 32) + 1))
    fails("Conv: group is 4294967297", from_onnx, made, error=UnsupportedOperatorError)


def test_an_attribute_of_a_function_outside_of_one() -> None:
    made = model()
    made.graph.node[2].attribute[0].ref_attr_name = "window"
    fails("kernel_shape is an attribute of no function", from_onnx, made, error=ModelFormatError)


@pytest.mark.parametrize(("stride", "is_taken"), [(1, True), (2, True), (4, False)])
def test_strides_beyond_a_window(stride: int, is_taken: bool) -> None:
    made = model()
    attributes = {"auto_pad": "SAME_LOWER", "strides": [stride, 1]}
    pairs = attributes.items()
    made.graph.node[2].attribute.extend(onnx.helper.make_attribute(*pair) for pair in pairs)
    dims = made.graph.input[0].type.tensor_type.shape.dim
    dims[2].dim_value = 4
    if is_taken:
        from_onnx(made)
    else:
        fails("strides beyond its window", from_onnx, made, error=UnsupportedOperatorError)
