"""RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, SPLIT, SPLIT_V, SLICE, STRIDED_SLICE, ARG_MAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet, check_refused

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_reshapes_equal_litert() -> None:
    sheet = Sheet(seed=26)
    data = sheet.random_input((1, 2, 1, 6), "int8", Q)
    sheet.operator("RESHAPE", [data, sheet.constant([3, -1])], (ANY, "int8", Q))
    sheet.operator("RESHAPE", [data], (ANY, "int8", Q), new_shape=[2, 2, 3])
    sheet.operator("SQUEEZE", [data], (ANY, "int8", Q))
    sheet.operator("SQUEEZE", [data], (ANY, "int8", Q), squeeze_dims=[-2])
    sheet.operator("EXPAND_DIMS", [data, sheet.constant(-1)], (ANY, "int8", Q))
    sheet.operator("EXPAND_DIMS", [data, sheet.constant([1])], (ANY, "int8", Q))
    # The bytes stay the same, whatever encoding the file states, as in LiteRT.
    other = Quantization.per_tensor(0.25, -3)
    sheet.operator("RESHAPE", [data, sheet.constant([12])], (ANY, "int8", other))
    sheet.check()


def test_transposes_and_splits_equal_litert() -> None:
    sheet = Sheet(seed=27)
    data = sheet.random_input((2, 3, 4), "uint8", Q)
    sheet.operator("TRANSPOSE", [data, sheet.constant([2, 0, 1])], (ANY, "uint8", Q))
    sheet.operator("TRANSPOSE", [data, sheet.constant([0, -1, 1])], (ANY, "uint8", Q))
    part = (ANY, "uint8", Q)
    sheet.operator("SPLIT", [sheet.constant(-1), data], part, part, num_splits=2)
    sheet.operator("SPLIT", [sheet.constant(1), data], part, num_splits=1)
    operands = [data, sheet.constant([1, -1, 1]), sheet.constant(2)]
    sheet.operator("SPLIT_V", operands, part, part, part, num_splits=3)
    sheet.check()


# begin, end, strides, masks: the cases of a Python slice, and of the masks together.
STRIDED_SLICES: list[tuple[list[int], list[int], list[int], dict[str, int]]] = [
    ([0, 1, 0], [2, 3, 4], [1, 1, 1], {}),
    ([0, 4, 1], [2, 0, 5], [1, -2, 3], {}),
    ([1, -2, -3], [2, -1, -1], [1, 1, 1], {}),
    ([1, 2, 3], [0, 1, 1], [1, 1, 1], {"begin_mask": 6, "end_mask": 3}),
    ([0, 3, 4], [1, 0, 0], [1, -1, -1], {"end_mask": 6, "begin_mask": 4}),
    ([1, 2, 3], [2, 3, 4], [1, 1, 1], {"shrink_axis_mask": 5}),
    ([0, -1], [2, 0], [1, 1], {"shrink_axis_mask": 2}),
    ([0, 1], [0, 3], [1, 2], {"ellipsis_mask": 1}),
    ([1, 0, 1], [2, 0, 3], [1, 1, 2], {"ellipsis_mask": 2}),
    ([0, 0, 1], [0, 1, 3], [1, 1, 1], {"new_axis_mask": 1}),
    ([0, 0, 0, 1], [0, 4, 0, 3], [1, 1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 4}),
    ([0, 2, 0, 1], [9, 9, 9, 9], [1, 1, 1, 2], {"new_axis_mask": 2, "shrink_axis_mask": 4}),
    ([-9, 1, 0], [9, 9, 9], [1, 1, 1], {}),
]


def test_slices_equal_litert() -> None:
    sheet = Sheet(seed=28)
    data = sheet.random_input((2, 5, 6), "int8", Q)
    for begin, end, strides, masks in STRIDED_SLICES:
        operands = [data, *map(sheet.constant, (begin, end, strides))]
        sheet.operator("STRIDED_SLICE", operands, (ANY, "int8", Q), **masks)
    for begin, size, shape in (
        ([0, 1, 2], [2, 3, -1], (2, 3, 4)),
        ([1, 0, 0], [1, 5, 6], (1, 5, 6)),
    ):
        operands = [data, sheet.constant(begin), sheet.constant(size)]
        sheet.operator("SLICE", operands, (shape, "int8", Q))
    sheet.check()


def test_arg_max_equals_litert() -> None:
    sheet = Sheet(seed=29)
    # Few values, so that many elements are the largest: the first of them counts.
    few = sheet.rng.integers(-2, 3, (4, 5, 6)).astype(np.int8)
    data = sheet.input(few, Q)
    real = sheet.input(sheet.rng.integers(-2, 3, (4, 5)).astype(np.float32))
    for axis in (0, 1, -1):
        operands = [data, sheet.constant(axis)]
        sheet.operator("ARG_MAX", operands, (ANY, "int32", None), output_type="int32")
    index = sheet.operator(
        "ARG_MAX", [data, sheet.constant(2)], (ANY, "int64", None), output_type="int64"
    )
    sheet.operator("ARG_MIN", [real, sheet.constant(1)], (ANY, "int32", None), output_type="int32")
    # What it gives may flow on.
    sheet.operator("RESHAPE", [index, sheet.constant([2, 10])], (ANY, "int64", None))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_arg_max_of_nothing_but_the_worst_value_equals_litert(dtype: str) -> None:
    sheet, info = Sheet(), np.iinfo(dtype)
    for code, worst in (("ARG_MAX", info.min), ("ARG_MIN", info.max)):
        data = sheet.input(np.full((2, 5), worst, dtype), Q)
        operands = [data, sheet.constant(1)]
        sheet.operator(code, operands, (ANY, "int32", None), output_type="int32")
    sheet.check()


def _one(code: str, *operands: Any, outputs: int = 1, **options: Any) -> Callable[[], bytes]:
    def build() -> bytes:
        sheet = Sheet()
        data = sheet.random_input((2, 6), "int8", Q)
        indices = [data if operand is None else sheet.constant(operand) for operand in operands]
        sheet.operator(code, indices, *[((1,), "int8", Q)] * outputs, **options)
        return sheet.model()

    return build


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_one("RESHAPE", None, [5, -1]), r"cannot reshape tensor 0 'x1' of shape \(2, 6\) to"),
        (_one("RESHAPE", None, [-1, -1]), r"cannot reshape .* to \[-1, -1\]"),
        (_one("RESHAPE", None), r"cannot reshape .* to \[\]"),
        (_one("SQUEEZE", None, squeeze_dims=[0]), r"cannot squeeze axes \[0\] out of shape"),
        (_one("EXPAND_DIMS", None, 3), r"axis 3 is outside a tensor of 3 dimensions"),
        (_one("TRANSPOSE", None, [0, 0]), r"\[0, 0\] is no permutation of 2 axes"),
        (_one("SPLIT", 1, None, outputs=4, num_splits=4), r"cannot split 6 along axis 1 into 4"),
        (_one("SPLIT", 1, None, outputs=1, num_splits=2), r"splits into 2, has 1 outputs"),
        (
            _one("SPLIT_V", None, [1, 2], 1, outputs=2, num_splits=2),
            r"cannot split 6 along axis 1 into \[1, 2\]",
        ),
        (_one("SLICE", None, [0, 3], [1, 4]), r"elements 3 to 7 are outside a dimension of 6"),
        (_one("SLICE", None, [0], [1]), r"do not fit shape \(2, 6\)"),
        (_one("STRIDED_SLICE", None, [0], [1], [0]), r"strides must not be 0"),
        (_one("STRIDED_SLICE", None, [0], [1], [1, 1]), r"differ in length"),
        (_one("TRANSPOSE", None, np.array([1, 0], np.int16)), r"must be int32, is int16"),
        (
            _one("STRIDED_SLICE", None, [2], [3], [1], shrink_axis_mask=1),
            r"element 2 by steps of 1 is outside a dimension of 2",
        ),
        (
            _one("STRIDED_SLICE", None, [1], [0], [-1], shrink_axis_mask=1),
            r"element 1 by steps of -1 is outside",
        ),
        (
            _one("STRIDED_SLICE", None, [0], [1], [1], new_axis_mask=2),
            r"masks name 1 axes to insert, 0 of them among the 1 entries",
        ),
        (_one("ARG_MAX", None, 1), r"a result of type float32"),
        (_one("ARG_MAX", None, [0, 1], output_type="int32"), r"must be one integer, got 2"),
    ],
)
def test_arguments_that_do_not_fit(model: Callable[[], bytes], message: str) -> None:
    check_refused(model(), message)


def test_a_new_axis_keeps_scale_and_zero_point() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 6), "int8", Q)
    result = ((2, 6, 1), "int8", Quantization.per_tensor(0.25, 3))
    sheet.operator("EXPAND_DIMS", [data, sheet.constant(2)], result)
    sheet.check_refused("must have the same scale and zero point")


def test_arguments_that_are_not_constant() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 6), "int8", Q)
    shape = sheet.input(np.array([12], np.int32))
    sheet.operator("RESHAPE", [data, shape], (ANY, "int8", Q))
    sheet.check_refused(r"tensor 1 'x2', the new shape of .* must be constant")


def test_a_scalar_that_the_file_calls_an_image() -> None:
    sheet = Sheet()
    data = sheet.input(np.array(3, np.int8), Quantization.per_tensor(0.1, 0))
    real = sheet.operator("DEQUANTIZE", [data], ((1, 4), "float32", None))
    sheet.operator("RESHAPE", [real, sheet.constant([1, 4])], ((1, 4), "float32", None))
    sheet.check_refused(r"cannot reshape .* of shape \(\) to \[1, 4\]")
