from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from qnn_ops import QnnError
from tests.support.hybrid import float_rows, weights
from tests.support.tflite import Sheet
from tvm_qnn import build
from tvm_qnn.compare import compare
from tvm_qnn.oracle import litert_tensors

STEP: dict[str, Any] = {
    "stride_h": 1,
    "stride_w": 1,
    "dilation_h_factor": 1,
    "dilation_w_factor": 1,
}


def bias(sheet: Sheet, channels: int) -> int:
    return sheet.constant(sheet.rng.normal(0, 3, channels).astype(np.float32))


def convolutions(seed: int, kinds: Sequence[int]) -> Sheet:
    """A sheet of convolutions; bits of a kind say what it has."""
    sheet = Sheet(seed)
    rng = sheet.rng
    for number in kinds:
        is_same, per_channel, is_pointwise = (bool(number >> bit & 1) for bit in range(3))
        inputs, outputs = int(rng.integers(1, 12)), int(rng.integers(1, 20))
        window = 1 if is_pointwise else 3
        options = {**STEP, "stride_h": 1 + number % 2, "padding": "SAME" if is_same else "VALID"}
        if number == 2:
            options.update(dilation_h_factor=2, stride_h=1)
        data = sheet.input(float_rows(rng, (2, 7, 8, inputs)))
        kernel = weights(sheet, (outputs, window, window, inputs), outputs if per_channel else 1)
        extent = (window - 1) * options["dilation_h_factor"] + 1
        height = 7 if is_same else 7 - extent + 1
        width = 8 if is_same else 8 - window + 1
        shape = (2, -(-height // options["stride_h"]), width, outputs)
        kind = ("NONE", "RELU", "RELU6")[number % 3]
        operands = [data, kernel, bias(sheet, outputs)]
        result = (shape, "float32", None)
        sheet.operator("CONV_2D", operands, result, fused_activation_function=kind, **options)
    for each, is_same in ((1, True), (2, False), (1, False)):
        data = sheet.input(float_rows(rng, (2, 6, 7, 5)))
        kernel = weights(sheet, (1, 3, 3, 5 * each), 5 * each, axis=3)
        shape = (2, 6, 7, 5 * each) if is_same else (2, 4, 5, 5 * each)
        sheet.operator(
            "DEPTHWISE_CONV_2D",
            [data, kernel, bias(sheet, 5 * each)],
            (shape, "float32", None),
            version=6,
            depth_multiplier=each,
            padding="SAME" if is_same else "VALID",
            **STEP,
        )
    return sheet


def test_every_element_is_litert_s() -> None:
    convolutions(1, range(8)).check()


def test_so_it_is_with_kernels() -> None:
    sheet = convolutions(2, (1, 3, 6))
    assert compare(sheet.model(), sheet.arrays).differing == ()


def test_a_batch_of_no_images() -> None:
    sheet = Sheet(5)
    data = sheet.input(np.zeros((0, 4, 4, 2), np.float32))
    for count in (1, 3):
        operands = [data, weights(sheet, (3, 2, 2, 2), count), bias(sheet, 3)]
        result = ((0, 3, 3, 3), "float32", None)
        sheet.operator("CONV_2D", operands, result, padding="SAME", **STEP)
    sheet.check()


def test_groups_and_equal_scales() -> None:
    sheet = Sheet(3)
    data = sheet.input(float_rows(sheet.rng, (1, 4, 4, 6)))
    grouped = weights(sheet, (4, 3, 3, 3), 4)
    result = ((1, 4, 4, 4), "float32", None)
    sheet.operator("CONV_2D", [data, grouped, bias(sheet, 4)], result, padding="SAME", **STEP)
    equal = Quantization(np.full(4, 0.03, np.float32), np.zeros(4, np.int64), 0)
    array = sheet.rng.integers(-127, 128, (4, 3, 3, 6)).astype(np.int8)
    whole = sheet.constant(array, equal)
    sheet.operator("CONV_2D", [data, whole, bias(sheet, 4)], result, padding="SAME", **STEP)
    sheet.check()


@pytest.mark.parametrize(
    ("code", "shape", "count"),
    [("CONV_2D", (4, 3, 3, 3), 1), ("DEPTHWISE_CONV_2D", (1, 3, 3, 6), 1)],
)
def test_a_scale_for_each_channel_where_litert_reads_one(
    code: str, shape: tuple[int, ...], count: int
) -> None:
    sheet = Sheet(4)
    data = sheet.input(float_rows(sheet.rng, (1, 4, 4, 6)))
    kernel = weights(sheet, shape, count)
    channels = shape[0] if code == "CONV_2D" else shape[3]
    result = ((1, 4, 4, channels), "float32", None)
    sheet.operator(code, [data, kernel, bias(sheet, channels)], result, padding="SAME", **STEP)
    with pytest.raises(QnnError, match=f"has one scale for {channels} channels"):
        from_tflite(sheet.model())


def test_transposed_convolutions_are_near_litert_s() -> None:
    sheet = Sheet(seed=3)
    rng = sheet.rng
    for number, (stride, padding, shape) in enumerate(
        ((2, "SAME", (2, 8, 8, 6)), (1, "VALID", (2, 6, 6, 6)))
    ):
        data = sheet.input(rng.normal(0.3, 2, (2, 4, 4, 5)).astype(np.float32))
        kernel = weights(sheet, (6, 3, 3, 5), 6)
        operands = [sheet.constant(list(shape)), kernel, data, bias(sheet, 6)]
        sheet.operator(
            "TRANSPOSE_CONV",
            operands if number else operands[:3],
            (shape, "float32", None),
            version=3,
            stride_h=stride,
            stride_w=stride,
            padding=padding,
            fused_activation_function="RELU" if number else "NONE",
        )
    model = sheet.model()
    mod, params = from_tflite(model)
    results = build(mod, "llvm", params, kernels=False).run(*sheet.arrays)
    expected = litert_tensors(model, sheet.arrays)
    for index, result in zip(read_model(model).outputs, results.values(), strict=True):
        # Sums of 45 products at most, here scaled after they are added up: each of two such sums
        # lies within 45 roundings of the real one.
        largest = max(np.abs(array).max() for array in sheet.arrays) * 127 * 0.1
        assert np.abs(result - expected[index]).max() <= 2 * 45 * 2.0**-24 * 45 * largest
        assert len(np.unique(result)) > 50
