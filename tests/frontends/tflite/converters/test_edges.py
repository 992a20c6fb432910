"""Operators at the limits of LiteRT: masks, empty tensors, odd operands and options."""

from typing import Any

import numpy as np

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops.dialect.signature import signature_of
from tests.support.linking import needs_linker
from tests.support.tflite import ANY, Q, Sheet, fixed, given, library_of, one, refused, x
from tvm_qnn import load
from tvm_qnn.oracle import litert_tensors

NARROW = Quantization.per_tensor(0.1, 0)

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


def test_slices_by_masks_and_from_their_begins_equal_litert() -> None:
    sheet, data = Sheet(seed=40), x(2, 5, 6)
    for begin, end, strides, masks in STRIDED_SLICES:
        sheet.add("STRIDED_SLICE", data, begin, end, strides, **masks)
    sheet.add("STRIDED_SLICE", x(), [0], [1], [1], new_axis_mask=1)
    data = x(7)
    for first, count in ((-9, 3), (-7, 7), (-2, 2), (0, 0), (3, 4), (6, 1), (7, 0), (9, 0)):
        for step in (1, 2):
            sheet.add("STRIDED_SLICE", data, [first], [count], [step], offset=True)
    sheet.add("STRIDED_SLICE", data, [3], [5], [2], offset=True, begin_mask=1)
    sheet.check()


def test_places_have_the_dtype_of_their_options() -> None:
    sheet, data = Sheet(seed=41), x(3, 5)
    for stated, declared in (("int32", "int64"), ("int64", "int32"), ("int64", "float32")):
        for code in ("ARG_MAX", "ARG_MIN"):
            sheet.add(code, data, 1, gives=declared, output_type=stated)
    sheet.add("ARG_MAX", x(3, 5, dtype="bool"), 1, gives="int32", output_type="int32")
    infos = signature_of(from_tflite(sheet.model())[0]).outputs
    for info, (result, wanted) in zip(infos, sheet.outputs("host"), strict=True):
        assert info.dtype == str(result.dtype) == str(wanted.dtype)
        np.testing.assert_array_equal(result, wanted)


def test_shapes_reductions_and_pads_equal_litert() -> None:
    sheet, data, one_number = Sheet(seed=42), x(2, 6), x(1, 1)
    # An operand that is no vector of int32 says nothing.
    sheet.add("RESHAPE", data, fixed([3, 4], "int16"), new_shape=[4, 3])
    sheet.add("RESHAPE", data, 12, new_shape=[-1])
    sheet.add("RESHAPE", data, [6, 2], new_shape=[3])
    sheet.add("RESHAPE", one_number, new_shape=[0])
    sheet.add("RESHAPE", one_number)
    other = (ANY, "int8", Quantization.per_tensor(0.25, -5))
    for data in (x(2, 3), x()):
        for keep in (False, True):
            sheet.add("MEAN", data, [], gives=other, keep_dims=keep)
            sheet.add("REDUCE_MAX", data, [], keep_dims=keep)
    sheet.add("REDUCE_MIN", data, [3])
    data = x(1, 2, 1, 3, 2, dtype="float32")
    widths = [[0, 1], [1, 0], [0, 0], [2, 1], [1, 1]]
    sheet.add("PAD", data, widths)
    sheet.add("PADV2", data, widths, fixed(1.5, "float32"))
    sheet.check()


def _empty_sheet() -> Sheet:
    sheet, data, real, some = Sheet(seed=45), x(3, 0, 2), x(3, 0, 2, dtype="float32"), x(3, 4, 2)
    result = (ANY, "int8", Quantization.per_tensor(1 / 256, -128))
    sheet.add("DEQUANTIZE", data, gives="float32")
    sheet.add("QUANTIZE", real, gives=(ANY, "int8", Q))
    sheet.add("LOGISTIC", data, gives=result)
    sheet.add("SOFTMAX", data, gives=result, beta=1.0)
    sheet.add("SQUARED_DIFFERENCE", real, real)
    sheet.add("L2_NORMALIZATION", real)
    sheet.add("ADD", data, fixed(np.zeros((3, 0, 2)), "int8", Q))
    sheet.add("RESHAPE", data, [0, 4])
    sheet.add("RESHAPE", data, [0, -1])
    sheet.add("TRANSPOSE", data, [2, 0, 1])
    sheet.add("SPLIT_V", some, [0, 4, 0], 1, gives=[(ANY, "int8", Q)] * 3, num_splits=3)
    sheet.add("CONCATENATION", data, some, axis=1)
    sheet.add("PAD", data, [[0, 0], [1, 2], [0, 0]])
    for code in ("REDUCE_MAX", "REDUCE_MIN"):
        sheet.add(code, data, [1])
        sheet.add(code, real, [1], keep_dims=True)
    sheet.add("RESIZE_NEAREST_NEIGHBOR", x(1, 2, 3, 2), [0, 4])
    sheet.add("FULLY_CONNECTED", some, fixed(np.zeros((0, 2)), "int8", NARROW))
    return sheet


def test_tensors_without_elements_equal_litert() -> None:
    _empty_sheet().check()


def test_operators_that_give_no_elements_equal_litert() -> None:
    sheet, some = Sheet(seed=46), x(1, 4, 4, 2)
    int8, real, whole = (x(2, 0, 3, dtype=dtype) for dtype in ("int8", "float32", "int32"))
    sheet.add("SOFTMAX", real, beta=1.0)
    sheet.add("LOG_SOFTMAX", real)
    for code, scale, point in (("LOG_SOFTMAX", 16 / 256, 127), ("L2_NORMALIZATION", 1 / 128, 0)):
        sheet.add(code, int8, gives=(ANY, "int8", Quantization.per_tensor(scale, point)))
    sheet.add("ARG_MAX", int8, 2, gives="int32", output_type="int32")
    sheet.add("MATRIX_DIAG", real)
    sheet.add("MATRIX_SET_DIAG", real, x(2, 0, dtype="float32"))
    sheet.add("REVERSE_SEQUENCE", real, [0, 0], seq_dim=1, batch_dim=0)
    sheet.add("TILE", some, [1, 0, 2, 1])
    sheet.add("BROADCAST_TO", whole, [4, 2, 0, 3])
    sheet.add("FILL", [2, 0], given(7, "int32"))
    sheet.add("SLICE", some, [0] * 4, [1, 0, 2, 2], gives=((1, 0, 2, 2), "int8", Q))
    sheet.add("POW", whole, [2])
    sheet.add("BITCAST", real, gives="int32")
    sheet.add("BATCH_TO_SPACE_ND", x(4, 1, 1, 2), [2, 2], [[1, 1], [0, 0]])
    sheet.check()


@needs_linker
def test_tensors_without_elements_are_kept_in_files(tmp_path: Any) -> None:
    sheet = _empty_sheet()
    library_of(sheet.model(), "host").export(tmp_path / "empty.so")
    results = load(tmp_path / "empty.so").run(*sheet.arrays)
    expected = litert_tensors(sheet.model(), sheet.arrays).values()
    for result, wanted in zip(results.values(), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def _far(size: int, dilation: int) -> Sheet:
    """Return a convolution whose window has gaps."""
    options = {
        "padding": "SAME",
        **dict.fromkeys(("dilation_h_factor", "dilation_w_factor"), dilation),
    }
    return one(
        "CONV_2D", x(1, 5, 5, 2), fixed(np.ones((2, size, size, 2)), "int8", NARROW), **options
    )


test_what_litert_does_not_define = refused(
    *(
        (
            f"{end} elements from {begin} on by steps of {step}",
            one("STRIDED_SLICE", x(7), [begin], [end], [step], offset=True),
        )
        for begin, end, step in ((0, 8, 1), (5, 3, 1), (0, -1, 1), (6, 1, -1))
    ),
    ("'x1' is a scalar, which has no axes to permute", one("TRANSPOSE", x(), [])),
    ("a mean is of 1 to 8388608 values, got 0", one("MEAN", x(0, 2), [0])),
    ("axis 0 of tensor 0 'x1' has no elements", one("ARG_MAX", x(0, 2), [0], output_type="int32")),
    ("dilation must be at most 32767", _far(1, 2**31 - 1)),
    ("the padded data must have", _far(3, 2**15 - 1)),
    (
        "'x1' has scales by channel and no elements",
        one(
            "DEQUANTIZE",
            x(2, 0, encoding=Quantization(np.array([0.1, 0.2], np.float32), np.zeros(2, np.int64))),
            gives="float32",
        ),
    ),
)
