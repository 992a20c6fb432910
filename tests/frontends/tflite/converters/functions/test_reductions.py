"""Reductions along axes and in windows, MEAN and CUMSUM."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.arrays import Array
from tests.differential.elementwise import mean
from tests.differential.graphs import QUANTIZED
from tests.differential.single import single
from tests.support.arrays import full_range
from tests.support.steps import compiled
from tests.support.tflite import (
    ANY,
    Operand,
    Q,
    Sheet,
    check_refused,
    fixed,
    given,
    one,
    random_quantization,
    refused,
    x,
)
from tests.support.tflite_graphs import combining
from tvm_qnn.compare import compare

AXES = ([1, 2], [-1], [0], [0, 1, 2, 3], [3, -1])


def test_sums_of_uint8_equal_litert() -> None:
    sheet, rng = Sheet(seed=90), np.random.default_rng(90)
    for index in range(20):
        data = x(2, 5, 3, 4, dtype="uint8", encoding=random_quantization(rng, "uint8"))
        result = (ANY, "uint8", random_quantization(rng, "uint8", 0.3))
        axes = AXES[index % len(AXES)]
        sheet.add("SUM", data, axes, gives=result, version=2, keep_dims=bool(index % 2))
    data, gives = (x(0, 3, dtype="uint8", encoding=Quantization.per_tensor(0.5, z)) for z in (7, 9))
    sheet.add("SUM", data, [0], gives=(ANY, *gives.kind[1:]), version=2)
    sheet.check()


@pytest.mark.parametrize("axes", AXES)
def test_sums_of_int8_are_those_of_the_same_uint8(axes: list[int]) -> None:
    # LiteRT 2.3.0's reference kernel reads the bytes of int8 as uint8.
    results = []
    rng = np.random.default_rng(91)
    data = full_range(rng, "uint8", (2, 5, 3, 4))
    for dtype, offset in (("uint8", 0), ("int8", -128)):
        sheet = Sheet()
        moved = (data.astype(np.int32) + offset).astype(dtype)
        index = sheet.input(moved, Quantization.per_tensor(0.1, 100 + offset))
        result = ((1,), dtype, Quantization.per_tensor(0.7, 50 + offset))
        sheet.operator("SUM", [index, sheet.constant(axes)], result, version=2)
        results.append(sheet.run().astype(np.int32) - offset)
    np.testing.assert_array_equal(results[0], results[1])


test_means_equal_litert = compiled(mean)


@pytest.mark.parametrize(("dtype", "point"), [("int8", 7), ("uint8", 120), ("int16", 0)])
def test_means_along_any_axes_equal_litert(dtype: str, point: int) -> None:
    sheet, result = Sheet(seed=9), (ANY, dtype, Quantization.per_tensor(0.04, point))
    data = x(3, 40, 50, 2, dtype=dtype, encoding=Quantization.per_tensor(0.05, point))
    for axes in (*AXES, [2, 1], [-2, -3], [1, 1], [0, 3]):
        for keep in (False, True):
            sheet.add("MEAN", data, axes, gives=result, keep_dims=keep)
    sheet.check_reference()
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_means_without_a_scale_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=7)
    for source, result in ((None, None), (None, Q), (Q, None)):
        data = given(sheet.rng.integers(20, 100, (2, 4, 3, 5)), dtype, source)
        for axes, keep in (([1, 2], True), ([1, 2], False), ([0, 3], False)):
            sheet.add("MEAN", data, axes, gives=(ANY, dtype, result), keep_dims=keep)
    sheet.check()


test_running_sums_equal_litert = compiled(
    single("CUMSUM"), dtypes=("int32", "int64", "float32"), count=8
)
test_windows_equal_litert = compiled(
    single("REDUCE_WINDOW"),
    single("STABLEHLO_REDUCE_WINDOW"),
    dtypes=(*QUANTIZED, "int32", "int64", "float32"),
    count=12,
)


def test_running_sums_of_real_numbers_have_litert_s_order() -> None:
    sheet = Sheet(seed=11)
    data = given(sheet.rng.normal(0, 1e9, (3, 13)), "float32")
    for axis, reverse in ((1, False), (-2, True), (-1, True)):
        sheet.add("CUMSUM", data, axis, reverse=reverse)
    sheet.check()


def test_running_sums_of_minus_zeros_have_the_sign_of_litert() -> None:
    sheet = Sheet()
    data = given([[-0.0, -0.0, 1, -1], [-0.0, 0, -0.0, -0.0], [np.nan, -0.0, np.inf, 1]], "float32")
    for exclusive in (False, True):
        sheet.add("CUMSUM", data, 1, exclusive=exclusive)
        sheet.add("CUMSUM", data, 0, exclusive=exclusive, reverse=True)
    for found, expected in sheet.outputs():
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(expected[:2]))


FUNCTIONS = ("ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY")


def of_ones(**options: Any) -> dict[str, Any]:
    """Return options of two axes, with a few replaced."""
    ones = {f"window_{name}": [1, 1] for name in ("dimensions", "strides", "dilations")}
    return {**ones, "base_dilations": [1, 1], "padding": [0, 0, 0, 0], **options}


def numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.6
    odd = rng.random(shape)
    reals = np.where(odd < 0.05, np.nan, np.where(odd < 0.3, 0, rng.normal(0, 1, shape)))
    return reals.astype(np.float32)


def windows(data: Array, start: Array, code: str, **options: Any) -> bytes:
    """Return a model of one STABLEHLO_REDUCE_WINDOW, which combines by an operator or by none."""
    writer, dtype = ModelWriter(), data.dtype.name
    x = writer.tensor("x", data.shape, dtype)
    s = writer.tensor("s", start.shape, dtype)
    y = writer.tensor("y", ANY, dtype)
    number = {"body_subgraph_index": combining(code, dtype).add_to(writer), **options}
    writer.operator("STABLEHLO_REDUCE_WINDOW", [x, s], [y], **number)
    return writer.finish([x, s], [y])


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_windows_of_flags_and_no_numbers_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=1)
    data, start = (sheet.input(numbers(sheet.rng, dtype, shape)) for shape in ((5, 6), ()))
    volume = sheet.input(numbers(sheet.rng, dtype, (2, 4, 1, 3)))
    for function in FUNCTIONS[2:] if dtype == "bool" else FUNCTIONS:
        for index, *numbers_of in (
            (data, [3, 2], [2, 3], [2, 1]),
            (volume, [1, 2, 1, 2], [2, 1, 3, 1], [1, 2, 1, 1]),
        ):
            sizes = [sheet.bias(np.array(each, np.int64)) for each in numbers_of]
            result = (ANY, dtype, None)
            operands = [index, start, *sizes]
            sheet.operator("REDUCE_WINDOW", operands, result, reduce_function=function)
    sheet.check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window_dimensions": [1]}, "the windows' sizes must have a number for each of 2 axes"),
        ({"window_strides": [0, 1]}, "the windows' strides must be 1 to"),
        ({"window_dilations": [1, 2**40]}, "the windows' dilations must be 1 to"),
        ({"base_dilations": [1, -1]}, "base_dilations must be 1 to"),
        ({"padding": [1, 1]}, "padding must have 4 numbers, got"),
        ({"padding": [2**40, 0, 0, 0]}, "padding must be"),
        ({"padding": [2**30, 0, 2**30, 0]}, "is too large"),
        ({"padding": [-5, 0, 0, 0]}, "padding leaves no elements"),
        ({"body_subgraph_index": 0}, "runs subgraph 0, there are 1 others"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    data, start = np.zeros((5, 6), np.int32), np.array(0, np.int32)
    check_refused(windows(data, start, "ADD", **of_ones(**options)), message)


@pytest.mark.parametrize(
    ("code", "dtype", "message"),
    [
        ("", "int32", "combines numbers by nothing"),
        ("SUB", "int32", "combines numbers by SUB"),
        ("ADD", "bool", "add of bool"),
    ],
)
def test_functions_that_litert_lacks(code: str, dtype: str, message: str) -> None:
    data, start = np.zeros((5, 6), dtype), np.zeros((), dtype)
    check_refused(windows(data, start, code, **of_ones()), message)


def test_windows_of_no_elements_equal_litert_s() -> None:
    _windows(x(0, 3, dtype="int32"), [1, 2], reduce_function="ADD").check()
    large = np.zeros((2, 3), np.int32)
    model = windows(large, np.array(1, np.int32), "ADD", **of_ones(window_dimensions=[3, 1]))
    arrays = [large, np.array(1, np.int32)]
    assert compare(model, arrays, target="llvm", kernels=False).differing == ()


def _windows(data: Operand, sizes: Any, make: Any = fixed, **options: Any) -> Sheet:
    """Return windows whose sizes, steps and dilations are the same."""
    numbers = [make(sizes, "int64") for _ in range(3)]
    return one("REDUCE_WINDOW", data, given(1, "int32"), *numbers, **options)


test_reductions_that_are_refused = refused(
    ("states no function", _windows(x(4, dtype="int32"), [1])),
    ("must be constant", _windows(x(4, dtype="int32"), [1], given, reduce_function="ADD")),
    ("axis 4 is outside a tensor of 2 dimensions", one("MEAN", x(2, 3), [4])),
    ("of int8", one("CUMSUM", x(2, 3), 1)),
)
