from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.passes.tabulate_floats import TabulateFloats
from qnn_ops import dequantize, quantize, quantized_lookup
from qnn_ops.dialect.registry import operator_of
from tests.support.arrays import every_value
from tests.support.modules import calls_of, module
from tests.support.operators import run

BYTES = relax.TensorType((2, 128), "int8")


def operators(mod: tvm.IRModule) -> list[Any]:
    """Return the dialect's operators and the names of Relax's, in order."""
    return [operator_of(call) or call.op.name.removeprefix("relax.") for call in calls_of(mod)]


def between(function: Callable[[relax.Expr], relax.Expr]) -> Callable[[relax.Expr], relax.Expr]:
    def body(x: relax.Expr) -> relax.Expr:
        return quantize(function(dequantize(x, 0.05, 3)), 0.01, -7, "int8")

    return body


def elu(x: relax.Expr) -> relax.Expr:
    zero, one = relax.const(0.0, "float32"), relax.const(1.0, "float32")
    below = R.subtract(R.exp(R.minimum(x, zero)), one)
    return R.where(R.greater(x, zero), x, below)


def hard_swish(x: relax.Expr) -> relax.Expr:
    three = relax.const(np.full((1, 1), 3, np.float32))
    gate = R.clip(R.add(x, three), 0.0, 6.0)
    return R.divide(R.multiply(x, gate), relax.const(6.0, "float32"))


@pytest.mark.parametrize("function", [R.sigmoid, elu, hard_swish, lambda x: x])
def test_a_function_of_a_byte_becomes_a_lookup(function: Any) -> None:
    mod = module({"x": BYTES}, between(function))
    tabulated = TabulateFloats()(mod)
    assert operators(tabulated) == [quantized_lookup]
    values = every_value("int8").reshape(2, 128)
    wanted = run(LegalizeQnn()(mod), [values])
    assert np.unique(wanted).size > 3
    np.testing.assert_array_equal(run(LegalizeQnn()(tabulated), [values]), wanted)


def test_what_is_no_number_becomes_the_zero_point() -> None:
    tabulated = TabulateFloats()(module({"x": BYTES}, between(R.log)))
    values = every_value("int8").reshape(2, 128)
    logarithms = run(LegalizeQnn()(tabulated), [values])
    assert (logarithms[values < 3] == -7).all()
    assert logarithms[values == 3] == -128


def test_each_function_has_a_table_of_its_own() -> None:
    def body(x: relax.Expr, y: relax.Expr) -> relax.Expr:
        first = between(R.sigmoid)(x)
        second = quantize(R.exp(dequantize(first, 0.01, -7)), 0.02, 0, "int8")
        third = quantize(R.tanh(dequantize(y, 0.02, 99)), 0.01, 0, "int8")
        return R.concat([second, third])

    mod = module({"x": BYTES, "y": relax.TensorType((2, 128), "uint8")}, body)
    tabulated = TabulateFloats()(mod)
    assert operators(tabulated) == [quantized_lookup] * 3 + ["concat"]
    values = [every_value(dtype).reshape(2, 128) for dtype in ("int8", "uint8")]
    wanted = run(LegalizeQnn()(mod), values)
    assert all(np.unique(half).size > 3 for half in np.split(wanted, 2))
    np.testing.assert_array_equal(run(LegalizeQnn()(tabulated), values), wanted)


def test_what_others_read_stays() -> None:
    def body(x: relax.Expr) -> list[relax.Expr]:
        real = R.sigmoid(dequantize(x, 0.05, 3))
        return [quantize(real, 0.004, -128, "int8"), real]

    assert operators(TabulateFloats()(module({"x": BYTES}, body))) == [
        dequantize,
        "sigmoid",
        quantized_lookup,
    ]


def two_tensors(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return quantize(R.add(dequantize(x, 0.5, 3), dequantize(y, 0.5, 3)), 0.1, 0, "int8")


def along_an_axis(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return quantize(R.nn.softmax(dequantize(x, 0.5, 3)), 0.1, 0, "int8")


def of_channels(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return quantize(R.exp(dequantize(x, [0.5] * 128, 3)), 0.1, 0, "int8")


def to_channels(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return quantize(R.exp(dequantize(x, 0.5, 3)), [0.5] * 128, 0, "int8")


def to_more_bits(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return quantize(R.exp(dequantize(x, 0.5, 3)), 0.1, 0, "int32")


def with_a_constant_of_channels(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    weights = relax.const(np.arange(128, dtype=np.float32))
    return quantize(R.multiply(dequantize(x, 0.5, 3), weights), 0.1, 0, "int8")


def of_a_parameter(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return quantize(R.astype(x, "float32"), 0.1, 0, "int8")


@pytest.mark.parametrize(
    "body",
    [
        two_tensors,
        along_an_axis,
        of_channels,
        to_channels,
        to_more_bits,
        with_a_constant_of_channels,
        of_a_parameter,
    ],
)
def test_other_functions_stay(body: Any) -> None:
    mod = module({"x": BYTES, "y": BYTES}, body)
    tvm.ir.assert_structural_equal(TabulateFloats()(mod), mod)
