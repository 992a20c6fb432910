"""Sums of float32 products, in the order of LiteRT's reference kernels."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from tests.support.tflite import CONVOLUTION, Sheet, library_of
from tvm_qnn.oracle import litert_tensors

GAPS = ("dilation_d_factor", "dilation_h_factor", "dilation_w_factor")
STEP: dict[str, Any] = {**CONVOLUTION, "padding": "SAME", "stride_h": 2}
THICK = dict.fromkeys(GAPS, 1)
WIDE = {**THICK, **dict.fromkeys(GAPS[1:], 2), "padding": "VALID"}
WIDE |= dict.fromkeys(("stride_d", "stride_h", "stride_w"), 1)
STEPS = {"padding": "SAME", "stride_d": 2, "stride_h": 1, "stride_w": 2, **THICK}
TWICE = {**STEP, "depth_multiplier": 2}
SAME, VALID = {"padding": "SAME"}, {"padding": "VALID"}
# Code, data, weights, bias, result, options.
LAYERS: list[tuple[str, tuple[int, ...], tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = [
    ("CONV_2D", (2, 9, 8, 5), (7, 3, 3, 5), 7, (2, 5, 8, 7), STEP),
    ("CONV_2D", (1, 9, 8, 6), (8, 3, 3, 3), 8, (1, 4, 6, 8), {**STEP, **VALID}),
    ("DEPTHWISE_CONV_2D", (2, 9, 8, 5), (1, 3, 3, 10), 10, (2, 5, 8, 10), TWICE),
    ("FULLY_CONNECTED", (4, 100), (30, 100), 30, (4, 30), {}),
    ("FULLY_CONNECTED", (2, 3, 20), (4, 20), 0, (2, 3, 4), {"keep_num_dims": True}),
    ("TRANSPOSE_CONV", (2, 5, 4, 5), (7, 3, 3, 5), 7, (2, 10, 8, 7), SAME),
    ("TRANSPOSE_CONV", (1, 5, 4, 5), (7, 3, 2, 5), 0, (1, 12, 9, 7), VALID),
    ("CONV_3D", (2, 6, 7, 5, 3), (3, 2, 3, 3, 4), 4, (2, 3, 7, 3, 4), STEPS),
    ("CONV_3D", (1, 6, 7, 8, 3), (2, 2, 3, 3, 4), 0, (1, 5, 5, 4, 4), WIDE),
    ("CONV_3D_TRANSPOSE", (2, 3, 2, 3, 5), (3, 3, 2, 4, 5), 4, (2, 6, 4, 5, 4), SAME),
    ("CONV_3D_TRANSPOSE", (1, 3, 2, 3, 5), (3, 2, 2, 4, 5), 0, (1, 8, 4, 6, 4), VALID),
    ("BATCH_MATMUL", (2, 5, 40), (2, 40, 6), 0, (2, 5, 6), {}),
    ("BATCH_MATMUL", (3, 40, 5), (6, 40), 0, (3, 5, 6), {"adj_x": True, "adj_y": True}),
    ("BATCH_MATMUL", (3, 5, 40), (40, 6), 0, (3, 5, 6), {}),
    ("BATCH_MATMUL", (2, 1, 3, 17), (3, 17, 50), 0, (2, 3, 3, 50), {}),
    ("TRANSPOSE_CONV", (1, 3, 4, 5), (7, 1, 1, 5), 7, (1, 6, 8, 7), SAME),
]


def sheet_of(arrays: dict[int, np.ndarray], sign: Any = lambda array: array) -> Sheet:
    """A sheet of all layers, without activations; arrays by their index."""
    sheet = Sheet()
    place = 0

    def next_array(shape: tuple[int, ...]) -> np.ndarray:
        nonlocal place
        place += 1
        if place not in arrays:
            arrays[place] = np.random.default_rng(place).normal(size=shape).astype(np.float32)
        return np.asarray(sign(arrays[place]))

    for code, data, weights, channels, result, options in LAYERS:
        values = sheet.input(next_array(data))
        operands = [values, sheet.constant(next_array(weights))]
        if code == "TRANSPOSE_CONV":
            options = {**options, "stride_h": 2, "stride_w": 2}
            operands = [sheet.constant(result), operands[1], values]
        if code == "CONV_3D_TRANSPOSE":
            steps = {"stride_d": 2, "stride_h": 2, "stride_w": 2}
            options = {**options, **steps, **THICK}
            operands = [sheet.constant(result), operands[1], values]
        if channels:
            operands.append(sheet.constant(next_array((channels,))))
        sheet.operator(code, operands, (result, "float32", None), **options)
    return sheet


@pytest.mark.parametrize("target", ["llvm", "host"])
def test_sums_are_those_of_litert(target: str) -> None:
    arrays: dict[int, np.ndarray] = {}
    sheet = sheet_of(arrays)
    model = sheet.model()
    expected = litert_tensors(model, sheet.arrays)
    sizes = sheet_of(arrays, np.abs)
    totals = litert_tensors(sizes.model(), sizes.arrays)
    results = list(library_of(model, target).run(*sheet.arrays).values())
    for index, result, layer in zip(read_model(model).outputs, results, LAYERS, strict=True):
        # Two sums of n products, in any order and with fused products or without, each lie
        # within n rounding errors of the sum of their sizes. Volumes alone have another order.
        terms = int(np.prod(layer[2])) // (layer[3] or 1) + 1
        bound = 2 * terms * 2.0**-24 * totals[index] if "3D" in layer[0] else 0
        assert result.shape == expected[index].shape
        assert (np.abs(result - expected[index]) <= bound).all(), layer[0]


def test_numbers_that_are_none_and_results_beyond_all() -> None:
    sheet = Sheet(1)
    sheet.constant(np.zeros(1, np.int8))
    rows = sheet.rng.normal(size=(4, 6)).astype(np.float32)
    rows[0, 0], rows[1, 1], rows[2] = np.nan, np.inf, 3e38
    weights = sheet.rng.normal(0, 2, (5, 6)).astype(np.float32)
    data, kernel = sheet.input(rows), sheet.constant(weights)
    image, taps = rows.reshape(1, 2, 2, 6), np.tile(weights[:, None, None], (1, 3, 3, 1))
    taps[0, 0, 0, 0] = np.inf  # which lies on padding for most pixels
    pixels = sheet.input(image)
    planes, bias = sheet.constant(taps), sheet.constant(np.ones(5, np.float32))
    for kind in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        options: dict[str, Any] = {"fused_activation_function": kind}
        sheet.operator("FULLY_CONNECTED", [data, kernel], ((4, 5), "float32", None), **options)
        result = ((1, 2, 2, 5), "float32", None)
        options |= {**STEP, "stride_h": 1}
        sheet.operator("CONV_2D", [pixels, planes, bias], result, **options)
    sheet.operator("BATCH_MATMUL", [data, sheet.constant(weights.T)], ((4, 5), "float32", None))
    sheet.check()


def test_activations_are_fused() -> None:
    sheet = Sheet(1)
    sheet.constant(np.zeros(1, np.int8))
    data = sheet.input(sheet.rng.normal(0, 4, (3, 1)).astype(np.float32))
    weights = sheet.constant(sheet.rng.normal(0, 4, (5, 1)).astype(np.float32))
    for kind in ("RELU", "RELU6", "RELU_N1_TO_1"):
        operands = [data, weights]
        result = ((3, 5), "float32", None)
        sheet.operator("FULLY_CONNECTED", operands, result, fused_activation_function=kind)
    sheet.check()


def test_kernels_that_do_not_fit() -> None:
    sheet = Sheet()
    data = sheet.input(np.ones((1, 4, 4, 6), np.float32))
    kernel = sheet.constant(np.ones((4, 1, 1, 4), np.float32))
    sheet.operator("CONV_2D", [data, kernel], ((1, 2, 4, 4), "float32", None), **STEP)
    sheet.check_refused(r"a kernel of shape \(4, 1, 1, 4\) for data")


def test_weights_that_a_run_quantizes_may_state_no_shape() -> None:
    """Of layers that were trained with quantization, and converted without it."""
    sheet, rng = Sheet(), np.random.default_rng(4)
    values = sheet.constant(rng.integers(-100, 100, (5, 8)).astype(np.float32))
    steps = sheet.operator("QUANTIZE", [values], ((), "uint8", Quantization.per_tensor(1.0, 128)))
    real = sheet.operator("DEQUANTIZE", [steps], ((), "float32", None))
    rows = sheet.input(rng.integers(-100, 100, (3, 8)).astype(np.float32))
    sheet.operator("FULLY_CONNECTED", [rows, real], ((3, 5), "float32", None))
    sheet.check()
