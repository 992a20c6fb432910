"""Sums of float32 products, in the order of LiteRT's reference kernels."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from tests.support.tflite import CONVOLUTION, Sheet, fixed, given, one, refused, x
from tvm_qnn.oracle import litert_tensors

GAPS = ("dilation_d_factor", "dilation_h_factor", "dilation_w_factor")
STEP: dict[str, Any] = {**CONVOLUTION, "padding": "SAME", "stride_h": 2}
THICK = dict.fromkeys(GAPS, 1)
WIDE = {**THICK, **dict.fromkeys(GAPS[1:], 2), "padding": "VALID"}
WIDE |= dict.fromkeys(("stride_d", "stride_h", "stride_w"), 1)
STEPS = {"padding": "SAME", "stride_d": 2, "stride_h": 1, "stride_w": 2, **THICK}
TWICE = {**STEP, "depth_multiplier": 2}
SAME: dict[str, Any] = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
VALID = {**SAME, "padding": "VALID"}
THICK_SAME, THICK_VALID = ({**each, **THICK, "stride_d": 2} for each in (SAME, VALID))
# Code, data, weights, bias, the result's shape where an operand states it, options.
LAYERS: list[tuple[str, tuple[int, ...], tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = [
    ("CONV_2D", (2, 9, 8, 5), (7, 3, 3, 5), 7, (), STEP),
    ("CONV_2D", (1, 9, 8, 6), (8, 3, 3, 3), 8, (), {**STEP, "padding": "VALID"}),
    ("DEPTHWISE_CONV_2D", (2, 9, 8, 5), (1, 3, 3, 10), 10, (), TWICE),
    ("FULLY_CONNECTED", (4, 100), (30, 100), 30, (), {}),
    ("FULLY_CONNECTED", (2, 3, 20), (4, 20), 0, (), {"keep_num_dims": True}),
    ("TRANSPOSE_CONV", (2, 5, 4, 5), (7, 3, 3, 5), 7, (2, 10, 8, 7), SAME),
    ("TRANSPOSE_CONV", (1, 5, 4, 5), (7, 3, 2, 5), 0, (1, 12, 9, 7), VALID),
    ("CONV_3D", (2, 6, 7, 5, 3), (3, 2, 3, 3, 4), 4, (), STEPS),
    ("CONV_3D", (1, 6, 7, 8, 3), (2, 2, 3, 3, 4), 0, (), WIDE),
    ("CONV_3D_TRANSPOSE", (2, 3, 2, 3, 5), (3, 3, 2, 4, 5), 4, (2, 6, 4, 5, 4), THICK_SAME),
    ("CONV_3D_TRANSPOSE", (1, 3, 2, 3, 5), (3, 2, 2, 4, 5), 0, (1, 8, 4, 6, 4), THICK_VALID),
    ("BATCH_MATMUL", (2, 5, 40), (2, 40, 6), 0, (), {}),
    ("BATCH_MATMUL", (3, 40, 5), (6, 40), 0, (), {"adj_x": True, "adj_y": True}),
    ("BATCH_MATMUL", (3, 5, 40), (40, 6), 0, (), {}),
    ("BATCH_MATMUL", (2, 1, 3, 17), (3, 17, 50), 0, (), {}),
    ("TRANSPOSE_CONV", (1, 3, 4, 5), (7, 1, 1, 5), 7, (1, 6, 8, 7), SAME),
]


def sheet_of(sign: Any = lambda array: array) -> Sheet:
    """Return all layers without activations."""
    sheet = Sheet()

    def drawn(*shape: int) -> Any:
        return sign(sheet.rng.normal(size=shape))

    for code, data, weights, channels, shape, options in LAYERS:
        operands = [given(drawn(*data), "float32"), fixed(drawn(*weights), "float32")]
        if shape:
            operands = [fixed(shape, "int32"), *operands[::-1]]
        if channels:
            operands.append(fixed(drawn(channels), "float32"))
        sheet.add(code, *operands, gives="float32", **options)
    return sheet


@pytest.mark.parametrize("target", ["llvm", "host"])
def test_sums_are_those_of_litert(target: str) -> None:
    sizes = sheet_of(np.abs)
    model = sizes.model()
    totals = litert_tensors(model, sizes.arrays)
    found = sheet_of().outputs(target)
    for (result, expected), index, layer in zip(
        found, read_model(model).outputs, LAYERS, strict=True
    ):
        # Two sums of n products, in any order and with fused products or without, each lie
        # within n rounding errors of the sum of their sizes. Volumes alone have another order.
        terms = int(np.prod(layer[2])) // (layer[3] or 1) + 1
        bound = 2 * terms * 2.0**-24 * totals[index] if "3D" in layer[0] else 0
        assert result.shape == expected.shape
        assert (np.abs(result - expected) <= bound).all(), layer[0]


def test_numbers_that_are_none_and_results_beyond_all() -> None:
    sheet = Sheet(1)
    sheet.constant(np.zeros(1, np.int8))
    rows, weights = sheet.rng.normal(size=(4, 6)), sheet.rng.normal(0, 2, (5, 6))
    rows[0, 0], rows[1, 1], rows[2] = np.nan, np.inf, 3e38
    taps = np.tile(weights[:, None, None], (1, 3, 3, 1))
    taps[0, 0, 0, 0] = np.inf  # which lies on padding for most pixels
    data, kernel = given(rows, "float32"), fixed(weights, "float32")
    picture = given(rows.reshape(1, 2, 2, 6), "float32"), fixed(taps, "float32")
    bias = fixed(np.ones(5), "float32")
    for kind in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        options: dict[str, Any] = {"fused_activation_function": kind}
        sheet.add("FULLY_CONNECTED", data, kernel, **options)
        sheet.add("CONV_2D", *picture, bias, **{**STEP, "stride_h": 1}, **options)
    sheet.add("BATCH_MATMUL", data, fixed(weights.T, "float32"))
    sheet.check()


def test_activations_are_fused() -> None:
    sheet = Sheet(1)
    sheet.constant(np.zeros(1, np.int8))
    data = given(sheet.rng.normal(0, 4, (3, 1)), "float32")
    weights = fixed(sheet.rng.normal(0, 4, (5, 1)), "float32")
    for kind in ("RELU", "RELU6", "RELU_N1_TO_1"):
        sheet.add("FULLY_CONNECTED", data, weights, fused_activation_function=kind)
    sheet.check()


test_kernels_that_do_not_fit = refused(
    (
        r"a kernel of shape \(4, 1, 1, 4\) for data",
        one("CONV_2D", x(1, 4, 4, 6, dtype="float32"), fixed(np.ones((4, 1, 1, 4)), "float32")),
    )
)


def test_weights_that_a_run_quantizes_may_state_no_shape() -> None:
    """Of layers that were trained with quantization, and converted without it."""
    sheet = Sheet(seed=4)
    values = fixed(sheet.rng.integers(-100, 100, (5, 8)), "float32")
    steps = sheet.made("QUANTIZE", values, gives=((), "uint8", Quantization.per_tensor(1.0, 128)))
    real = sheet.made("DEQUANTIZE", steps, gives=((), "float32", None))
    rows = given(sheet.rng.integers(-100, 100, (3, 8)), "float32")
    sheet.add("FULLY_CONNECTED", rows, real)
    sheet.check()
