"""Dense layers of open rows through the kernel of each instruction set."""

from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx

import tvm_qnn
from legalize import lower
from legalize.kernels.isa.x86 import AVX2, Isa
from qnn_ops import quantized_dense
from qnn_ops.arrays import Array
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.x86 import PROCESSORS, each_isa, runs_here
from tvm_qnn.target.target import parse_target

RNG = np.random.default_rng(3)
DEPTH, UNITS = 20, 70
KERNEL = RNG.integers(-128, 128, (UNITS, DEPTH)).astype(np.int8)
BIAS = RNG.integers(-9000, 9000, UNITS).astype(np.int32)
ATTRS = encodings(input=(0.5, 7), kernel=(0.0078125, 0), output=(4.0, 3))


def layer(rows: Any, dtype: str, **attrs: Any) -> Any:
    def body(x: relax.Expr) -> relax.Expr:
        named = {**ATTRS, "out_dtype": dtype, **attrs}
        return quantized_dense(x, relax.const(KERNEL), bias=relax.const(BIAS), **named)

    return module({"x": relax.TensorType((rows, DEPTH), dtype)}, body)


def data(rows: int, dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, (rows, DEPTH), endpoint=True).astype(dtype)


@each_isa
def test_any_number_of_rows_is_the_reference(isa: Isa) -> None:
    dtype = "int8" if isa is AVX2 else "uint8"  # which is copied as uint8
    mcpu = PROCESSORS[isa][0]
    if not runs_here(mcpu):
        pytest.skip("this processor cannot run it")
    mod, target = layer(tirx.Var("rows", "int64"), dtype), f"llvm -mcpu={mcpu}"
    lowered = lower(mod, parse_target(target))
    assert any("conv2d" in variable.name_hint for variable in lowered.get_global_vars())
    library = tvm_qnn.build(mod, target, num_threads=1)
    for rows in (*range(1, 15), 33, 240):
        x = data(rows, dtype)
        expected = quantized_dense.evaluate(x, KERNEL, bias=BIAS, out_dtype=dtype, **ATTRS)
        np.testing.assert_array_equal(library.run(x), expected)


def test_threads_share_many_rows() -> None:
    library = tvm_qnn.build(layer(tirx.Var("rows", "int64"), "uint8"), "host", num_threads=2)
    for rows in (1, 500, 3001):
        x = data(rows, "uint8")
        expected = quantized_dense.evaluate(x, KERNEL, bias=BIAS, out_dtype="uint8", **ATTRS)
        np.testing.assert_array_equal(library.run(x), expected)


def test_a_kernel_with_a_zero_point_is_left_to_the_primitives() -> None:
    mod = layer(tirx.Var("rows", "int64"), "uint8", kernel_zero_point=5)
    library = tvm_qnn.build(mod, "host", num_threads=1)
    x = data(9, "uint8")
    attrs = {**ATTRS, "kernel_zero_point": 5}
    expected = quantized_dense.evaluate(x, KERNEL, bias=BIAS, out_dtype="uint8", **attrs)
    np.testing.assert_array_equal(library.run(x), expected)
