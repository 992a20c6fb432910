"""Operators at the limits of LiteRT: masks, empty tensors, odd operands and options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.linking import needs_linker
from tests.support.tflite import Sheet
from tvm_qnn import build, load
from tvm_qnn.oracle import litert_tensors

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)

# begin, end, strides, masks, which LiteRT reads in its own way.
STRIDED_SLICES: list[tuple[list[int], list[int], list[int], dict[str, int]]] = [
    # More entries than axes: the last ones say nothing.
    ([0, 1, 2, 5], [2, 4, 6, 0], [1, 1, 1, 1], {}),
    # An axis that is dropped begins at 0 where its begin is open, and at the nearest element.
    ([1, 2, 3], [2, 3, 4], [1, 1, 1], {"begin_mask": 3, "shrink_axis_mask": 3}),
    ([-9, 2, 3], [2, 3, 4], [1, 1, 1], {"shrink_axis_mask": 1}),
    # Ellipsis, new and dropped axes together.
    (
        [0, 1, 0, 2],
        [0, 2, 0, 3],
        [1, 1, 1, 1],
        {"ellipsis_mask": 1, "shrink_axis_mask": 2, "new_axis_mask": 4},
    ),
    (
        [1, 0, 0, 2],
        [2, 0, 0, 3],
        [1, 1, 1, 1],
        {"shrink_axis_mask": 9, "ellipsis_mask": 2, "new_axis_mask": 6},
    ),
    ([0, 0, 1], [1, 9, 2], [1, 1, 1], {"new_axis_mask": 1, "ellipsis_mask": 2, "end_mask": 4}),
    # Nothing is left.
    ([1, 3, 0], [1, 2, 6], [1, 1, 1], {}),
]


def test_masks_of_slices_equal_litert() -> None:
    sheet = Sheet(seed=40)
    data = sheet.random_input((2, 5, 6), "int8", Q)
    for begin, end, strides, masks in STRIDED_SLICES:
        operands = [data, *map(sheet.constant, (begin, end, strides))]
        sheet.operator("STRIDED_SLICE", operands, (ANY, "int8", Q), **masks)
    scalar = sheet.random_input((), "int8", Q)
    operands = [scalar, *(sheet.constant([each]) for each in (0, 1, 1))]
    sheet.operator("STRIDED_SLICE", operands, (ANY, "int8", Q), new_axis_mask=1)
    sheet.check()


def test_ends_of_slices_that_are_counted_from_the_begins() -> None:
    sheet = Sheet(seed=46)
    data = sheet.random_input((7,), "int8", Q)
    for begin, end in ((-9, 3), (-7, 7), (-2, 2), (0, 0), (3, 4), (6, 1), (7, 0), (9, 0)):
        for step in (1, 2):
            operands = [data, *(sheet.constant([each]) for each in (begin, end, step))]
            sheet.operator("STRIDED_SLICE", operands, (ANY, "int8", Q), offset=True)
    operands = [data, *(sheet.constant([each]) for each in (3, 5, 2))]
    sheet.operator("STRIDED_SLICE", operands, (ANY, "int8", Q), offset=True, begin_mask=1)
    sheet.check()


@pytest.mark.parametrize(("begin", "end", "step"), [(0, 8, 1), (5, 3, 1), (0, -1, 1), (6, 1, -1)])
def test_such_ends_that_litert_reads_beyond(begin: int, end: int, step: int) -> None:
    sheet = Sheet()
    data = sheet.random_input((7,), "int8", Q)
    operands = [data, *(sheet.constant([each]) for each in (begin, end, step))]
    sheet.operator("STRIDED_SLICE", operands, (ANY, "int8", Q), offset=True)
    sheet.check_refused(f"{end} elements from {begin} on by steps of {step}")


def test_places_have_the_dtype_of_their_options() -> None:
    sheet = Sheet(seed=41)
    data = sheet.random_input((3, 5), "int8", Q)
    for stated, declared in (("int32", "int64"), ("int64", "int32"), ("int64", "float32")):
        for code in ("ARG_MAX", "ARG_MIN"):
            operands = [data, sheet.constant(1)]
            sheet.operator(code, operands, (ANY, declared, None), output_type=stated)
    flags = sheet.input(sheet.rng.random((3, 5)) < 0.5)
    operands = [flags, sheet.constant(1)]
    sheet.operator("ARG_MAX", operands, (ANY, "int32", None), output_type="int32")
    model = sheet.model()
    mod, params = from_tflite(model)
    library = build(mod, "host", params)
    expected = litert_tensors(model, sheet.arrays).values()
    for info, result, wanted in zip(
        library.outputs, library.run(*sheet.arrays).values(), expected, strict=True
    ):
        assert info.dtype == str(result.dtype) == str(wanted.dtype)
        np.testing.assert_array_equal(result, wanted)


def test_shapes_are_stated_in_several_ways() -> None:
    sheet = Sheet(seed=42)
    data = sheet.random_input((2, 6), "int8", Q)
    # An operand that is no vector of int32 says nothing.
    long = sheet.constant(np.array([3, 4], np.int16))
    sheet.operator("RESHAPE", [data, long], (ANY, "int8", Q), new_shape=[4, 3])
    sheet.operator("RESHAPE", [data, sheet.constant(12)], (ANY, "int8", Q), new_shape=[-1])
    sheet.operator("RESHAPE", [data, sheet.constant([6, 2])], (ANY, "int8", Q), new_shape=[3])
    one = sheet.random_input((1, 1), "int8", Q)
    sheet.operator("RESHAPE", [one], (ANY, "int8", Q), new_shape=[0])
    sheet.operator("RESHAPE", [one], (ANY, "int8", Q))
    sheet.check()


def test_reductions_along_no_axis_equal_litert() -> None:
    sheet = Sheet(seed=43)
    other = Quantization.per_tensor(0.25, -5)
    nothing = sheet.constant(np.zeros(0, np.int32))
    for shape in ((2, 3), ()):
        data = sheet.random_input(shape, "int8", Q)
        for keep in (False, True):
            sheet.operator("MEAN", [data, nothing], (ANY, "int8", other), keep_dims=keep)
            sheet.operator("REDUCE_MAX", [data, nothing], (ANY, "int8", Q), keep_dims=keep)
    sheet.operator("REDUCE_MIN", [data, sheet.constant([3])], (ANY, "int8", Q))
    sheet.check()


def test_float_pads_equal_litert() -> None:
    sheet = Sheet(seed=44)
    data = sheet.input(sheet.rng.normal(size=(1, 2, 1, 3, 2)).astype(np.float32))
    widths = sheet.constant([[0, 1], [1, 0], [0, 0], [2, 1], [1, 1]])
    sheet.operator("PAD", [data, widths], (ANY, "float32", None))
    value = sheet.constant(np.array(1.5, np.float32))
    sheet.operator("PADV2", [data, widths, value], (ANY, "float32", None))
    sheet.check()


def _empty_sheet() -> Sheet:
    sheet = Sheet(seed=45)
    data = sheet.random_input((3, 0, 2), "int8", Q)
    real = sheet.input(np.zeros((3, 0, 2), np.float32))
    some = sheet.random_input((3, 4, 2), "int8", Q)
    int8, reals = (ANY, "int8", Q), (ANY, "float32", None)
    result = Quantization.per_tensor(1 / 256, -128)
    sheet.operator("DEQUANTIZE", [data], reals)
    sheet.operator("QUANTIZE", [real], int8)
    sheet.operator("LOGISTIC", [data], (ANY, "int8", result))
    sheet.operator("SOFTMAX", [data], (ANY, "int8", result), beta=1.0)
    sheet.operator("SQUARED_DIFFERENCE", [real, real], reals)
    sheet.operator("L2_NORMALIZATION", [real], reals)
    sheet.operator("ADD", [data, sheet.constant(np.zeros((3, 0, 2), np.int8), Q)], int8)
    sheet.operator("RESHAPE", [data, sheet.constant([0, 4])], int8)
    sheet.operator("RESHAPE", [data, sheet.constant([0, -1])], int8)
    sheet.operator("TRANSPOSE", [data, sheet.constant([2, 0, 1])], int8)
    operands = [some, sheet.constant([0, 4, 0]), sheet.constant(1)]
    sheet.operator("SPLIT_V", operands, int8, int8, int8, num_splits=3)
    sheet.operator("CONCATENATION", [data, some], int8, axis=1)
    sheet.operator("PAD", [data, sheet.constant([[0, 0], [1, 2], [0, 0]])], int8)
    for code in ("REDUCE_MAX", "REDUCE_MIN"):
        sheet.operator(code, [data, sheet.constant([1])], int8)
        sheet.operator(code, [real, sheet.constant([1])], reals, keep_dims=True)
    image = sheet.random_input((1, 2, 3, 2), "int8", Q)
    sheet.operator("RESIZE_NEAREST_NEIGHBOR", [image, sheet.constant([0, 4])], int8)
    weights = sheet.constant(np.zeros((0, 2), np.int8), Quantization.per_tensor(0.1, 0))
    sheet.operator("FULLY_CONNECTED", [some, weights], int8)
    return sheet


def test_tensors_without_elements_equal_litert() -> None:
    _empty_sheet().check()


def test_operators_that_give_no_elements_equal_litert() -> None:
    sheet = Sheet(seed=46)
    tensors = {
        dtype: sheet.input(np.zeros((2, 0, 3), dtype), quantization)
        for dtype, quantization in (("int8", Q), ("float32", None), ("int32", None))
    }
    int8, real, whole = tensors.values()
    some = sheet.random_input((1, 4, 4, 2), "int8", Q)
    results = {code: (ANY, code, Q if code == "int8" else None) for code in tensors}
    bytes_, reals, wholes = results.values()
    sheet.operator("SOFTMAX", [real], reals, beta=1.0)
    sheet.operator("LOG_SOFTMAX", [real], reals)
    logarithm = Quantization.per_tensor(16 / 256, 127)
    sheet.operator("LOG_SOFTMAX", [int8], (ANY, "int8", logarithm))
    sheet.operator("L2_NORMALIZATION", [int8], (ANY, "int8", Quantization.per_tensor(1 / 128, 0)))
    sheet.operator("ARG_MAX", [int8, sheet.constant(2)], wholes, output_type="int32")
    sheet.operator("MATRIX_DIAG", [real], reals)
    sheet.operator("MATRIX_SET_DIAG", [real, sheet.input(np.zeros((2, 0), np.float32))], reals)
    lengths = sheet.constant([0, 0])
    sheet.operator("REVERSE_SEQUENCE", [real, lengths], reals, seq_dim=1, batch_dim=0)
    sheet.operator("TILE", [some, sheet.constant([1, 0, 2, 1])], bytes_)
    sheet.operator("BROADCAST_TO", [whole, sheet.constant([4, 2, 0, 3])], wholes)
    sheet.operator("FILL", [sheet.constant([2, 0]), sheet.input(np.array(7, np.int32))], wholes)
    corner, sizes = sheet.constant([0] * 4), sheet.constant([1, 0, 2, 2])
    sheet.operator("SLICE", [some, corner, sizes], ((1, 0, 2, 2), "int8", Q))
    sheet.operator("POW", [whole, sheet.constant(np.array([2], np.int32))], wholes)
    sheet.operator("BITCAST", [real], wholes)
    images = sheet.random_input((4, 1, 1, 2), "int8", Q)
    crops = [sheet.constant([2, 2]), sheet.constant([[1, 1], [0, 0]])]
    sheet.operator("BATCH_TO_SPACE_ND", [images, *crops], bytes_)
    sheet.check()


@needs_linker
def test_tensors_without_elements_are_kept_in_files(tmp_path: Any) -> None:
    sheet = _empty_sheet()
    mod, params = from_tflite(sheet.model())
    build(mod, "host", params).export(tmp_path / "empty.so")
    results = load(tmp_path / "empty.so").run(*sheet.arrays)
    expected = litert_tensors(sheet.model(), sheet.arrays).values()
    for result, wanted in zip(results.values(), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("code", "shape", "options", "message"),
    [
        ("TRANSPOSE", (), {}, "'x1' is a scalar, which has no axes to permute"),
        ("MEAN", (0, 2), {}, "a mean is of 1 to 8388608 values, got 0"),
        ("ARG_MAX", (0, 2), {"output_type": "int32"}, "axis 0 of tensor 0 'x1' has no elements"),
    ],
)
def test_what_litert_does_not_define(
    code: str, shape: tuple[int, ...], options: dict[str, Any], message: str
) -> None:
    sheet = Sheet()
    data = sheet.random_input(shape, "int8", Q)
    numbers = np.arange(len(shape)) if code == "TRANSPOSE" else np.zeros(1, np.int32)
    sheet.operator(code, [data, sheet.constant(numbers)], (ANY, "int8", Q), **options)
    sheet.check_refused(message)


@pytest.mark.parametrize(
    ("dilation", "message"),
    [(2**31 - 1, "dilation must be at most 32767"), (2**15 - 1, "the padded data must have")],
)
def test_windows_that_reach_too_far(dilation: int, message: str) -> None:
    sheet = Sheet()
    data = sheet.random_input((1, 5, 5, 2), "int8", Q)
    size = 1 if dilation > 2**15 else 3
    kernel = np.ones((2, size, size, 2), np.int8)
    options: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    options |= {"dilation_h_factor": dilation, "dilation_w_factor": dilation}
    operands = [data, sheet.constant(kernel, Quantization.per_tensor(0.1, 0))]
    sheet.operator("CONV_2D", operands, (ANY, "int8", Q), **options)
    sheet.check_refused(message)


def test_scales_by_channel_of_no_elements() -> None:
    sheet = Sheet()
    scales = Quantization(np.array([0.1, 0.2], np.float32), np.zeros(2, np.int64), 0)
    data = sheet.input(np.zeros((2, 0), np.int8), scales)
    sheet.operator("DEQUANTIZE", [data], (ANY, "float32", None))
    sheet.check_refused("'x1' has scales by channel and no elements")
