from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, random_quantization

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def add_dense(sheet: Sheet, style: str, shape: tuple[int, ...], depth: int, keep: bool) -> None:
    rng = sheet.rng
    dtype = style.split("_")[0]
    units = int(rng.integers(1, 9))
    data_quantization = random_quantization(rng, dtype)
    data = sheet.random_input(shape, dtype, data_quantization)
    if style == "int8_per_axis" and units > 1:
        scales = rng.uniform(0.005, 0.05, units).astype(np.float32)
        quantization = Quantization(scales, np.zeros(units, np.int64), 0)
    else:
        quantization = random_quantization(rng, dtype, 0.02)
    weights = full_range(rng, dtype, (units, depth))
    operands = [data, sheet.constant(weights, quantization)]
    if rng.random() < 0.7:
        scales = data_quantization.scale * quantization.scale
        biases = rng.integers(-20000, 20000, units).astype(np.int32)
        bias_quantization = Quantization(scales, np.zeros(scales.size, np.int64))
        operands.append(sheet.constant(biases, bias_quantization))
    result = (*shape[:-1], units) if keep else (int(np.prod(shape)) // depth, units)
    sheet.operator(
        "FULLY_CONNECTED",
        operands,
        (result, dtype, random_quantization(rng, dtype, 0.1 * float(np.sqrt(depth)))),
        keep_num_dims=keep,
        fused_activation_function=str(rng.choice(ACTIVATIONS)),
    )


@pytest.mark.parametrize("style", ["uint8", "int8", "int8_per_axis"])
def test_layers_of_any_rank_equal_litert(style: str) -> None:
    sheet = Sheet(seed=3)
    for _ in range(8):
        add_dense(sheet, style, (2, 12), 12, keep=False)
        add_dense(sheet, style, (12,), 12, keep=False)
        add_dense(sheet, style, (2, 3, 2, 2), 12, keep=False)  # flattened to [2, 12]
        add_dense(sheet, style, (2, 6), 4, keep=False)  # rows that cross the data's
        add_dense(sheet, style, (2, 3, 5), 5, keep=True)
    sheet.check_reference()


@pytest.mark.parametrize("style", ["uint8", "int8_per_axis"])
def test_compiled_layers_equal_litert(style: str) -> None:
    sheet = Sheet(seed=4)
    add_dense(sheet, style, (2, 3, 2, 2), 12, keep=False)
    add_dense(sheet, style, (2, 3, 5), 5, keep=True)
    sheet.check()


def _dense(weights: np.ndarray, quantization: Quantization, **options: str) -> bytes:
    sheet = Sheet()
    data = sheet.random_input((2, 6), weights.dtype.name, Quantization.per_tensor(0.1, 0))
    weight = sheet.constant(weights, quantization)
    result = ((2, 3), weights.dtype.name, Quantization.per_tensor(0.1, 0))
    sheet.operator("FULLY_CONNECTED", [data, weight], result, **options)
    return sheet.model()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            _dense(np.ones((3, 5), np.int8), Quantization.per_tensor(0.1, 0)),
            r"12 values of tensor 0 'x1' are no whole rows of 5, which tensor 1 'c2' takes",
        ),
        (
            _dense(np.ones((3, 6, 1), np.int8), Quantization.per_tensor(0.1, 0)),
            r"'c2' must have 2 dimensions, got \(3, 6, 1\)",
        ),
        (
            _dense(
                np.ones((3, 6), np.int8),
                Quantization(np.full(3, 0.1, np.float32), np.array([0, 1, 0], np.int64)),
            ),
            r"a scale per row and a zero point that is not 0",
        ),
        (
            _dense(
                np.ones((3, 6), np.uint8),
                Quantization(np.full(3, 0.1, np.float32), np.zeros(3, np.int64)),
            ),
            r"uint8 weights with a scale per channel",
        ),
        (
            _dense(
                np.ones((3, 6), np.uint8),
                Quantization.per_tensor(0.1, 0),
                weights_format="SHUFFLED4x16INT8",
            ),
            r"weights in the format SHUFFLED4x16INT8",
        ),
        (
            _dense(
                np.ones((3, 6), np.int8),
                Quantization.per_tensor(0.1, 0),
                fused_activation_function="TANH",
            ),
            r"fused activation TANH",
        ),
    ],
)
def test_weights_that_do_not_fit(model: bytes, message: str) -> None:
    with pytest.raises(QnnError, match=message):
        from_tflite(model)
