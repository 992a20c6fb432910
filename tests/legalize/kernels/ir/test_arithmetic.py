"""Arithmetic of vectors: functions of float32, and TFLite's rescaling of integers."""

from typing import Any

import numpy as np
import pytest
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.arithmetic import LARGEST, rescaled, rescaled_any
from legalize.written import new_function
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier
from tests.support.x86 import run_on

LANES = 8


def function(size: int, multiplier: int, shift: int, write: Any = rescaled) -> Any:
    with new_function("rescale") as builder:
        data = T.arg("data", T.buffer((size,), "int32"))
        output = T.arg("output", T.buffer((size,), "int32"))
        with T.serial(size // LANES) as i:
            index = T.ramp(i * LANES, 1, LANES)
            T.buffer_store(output, write(data[index], multiplier, shift), [index])
    return builder.get()


@pytest.mark.parametrize("multiplier", [1 << 30, 0x7FFFFFFF, 1518500250, 0])
@pytest.mark.parametrize("shift", [0, -1, -7, -31, 1, 14])
def test_rescaling_is_the_references(multiplier: int, shift: int) -> None:
    rng = np.random.default_rng(0)
    largest = LARGEST if shift <= 0 else LARGEST >> shift
    values = rng.integers(-largest, largest, 1 << 10, endpoint=True)
    small = np.arange(-256, 256)  # many ties
    ends = np.array([largest, -largest, 0, 1, -1, 2, -2, 3])
    x = np.concatenate([values, small, ends]).astype(np.int32)
    result = run_on("x86-64", function(x.size, multiplier, shift), [x], x.shape, "int32")
    np.testing.assert_array_equal(result, multiply_by_quantized_multiplier(x, multiplier, shift))


@pytest.mark.parametrize("multiplier", [1 << 30, 0x7FFFFFFF, 1518500250, 0])
@pytest.mark.parametrize("shift", [0, -1, -7, -31, 1, 14])
def test_rescaling_of_any_is_the_references(multiplier: int, shift: int) -> None:
    rng = np.random.default_rng(0)
    ends = np.iinfo(np.int32)
    near = np.arange(128)
    values = rng.integers(ends.min, ends.max, 1 << 10, endpoint=True)
    x = np.concatenate([values, near - 64, ends.min + near, ends.max - near]).astype(np.int32)
    built = function(x.size, multiplier, shift, rescaled_any)
    result = run_on("x86-64", built, [x], x.shape, "int32")
    np.testing.assert_array_equal(result, multiply_by_quantized_multiplier(x, multiplier, shift))
