import math
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.passes.tabulate_bytes import TabulateBytes
from qnn_ops import (
    quantized_add,
    quantized_lookup,
    quantized_multiply,
    quantized_relu,
    quantized_subtract,
    requantize,
)
from tests.support.arrays import every_value
from tests.support.encodings import encodings
from tests.support.modules import emit, module
from tests.support.references import evaluate

TABLES = [np.random.default_rng(seed).integers(-128, 128, 256).astype(np.int8) for seed in range(2)]

ATTRS = encodings(lhs=(0.05, 3), rhs=(0.04, -7), output=(0.06, 5), out_dtype="int8")
RESCALED = encodings(input=(0.06, 5), output=(0.04, -7), out_dtype="int8")


def product(lhs: relax.Expr, rhs: relax.Expr, **changes: Any) -> relax.Call:
    return quantized_multiply(lhs, rhs, **{**ATTRS, **changes})


def total(lhs: relax.Expr, rhs: relax.Expr, **changes: Any) -> relax.Call:
    return quantized_add(lhs, rhs, **{**ATTRS, **changes})


def number(value: int, *shape: int) -> relax.Expr:
    return relax.const(np.full(shape, value, "int8"))


def clamped(x: relax.Expr) -> relax.Call:
    return quantized_relu(x, 0.05, 3, 0.05, 3, "int8")


def rescaled(x: relax.Expr, **changes: Any) -> relax.Call:
    return requantize(x, **{**RESCALED, **changes})


def looked_up(x: relax.Expr, number: int) -> relax.Expr:
    return emit(quantized_lookup(x, relax.const(TABLES[number])))


@pytest.mark.parametrize("changes", [{}, {"arithmetic": "onnxruntime", "out_dtype": "uint8"}])
@pytest.mark.parametrize(
    "body",
    [
        lambda x, **changes: product(x, looked_up(x, 0), **changes),
        lambda x, **changes: product(looked_up(x, 0), looked_up(x, 1), **changes),
        lambda x, **changes: product(x, x, **changes),
        lambda x, **changes: product(number(90), x, **changes),
        lambda x, **changes: product(x, number(-95, 1, 16), **changes),
        lambda x, **changes: product(x, rescaled(total(x, number(99, 1))), **changes),
        lambda x, **changes: product(clamped(looked_up(x, 0)), looked_up(x, 1), **changes),
        lambda x, **changes: quantized_subtract(number(7), x, **ATTRS),
    ],
    ids=[
        *("swish", "two tables", "square", "scaled", "alike", "hard swish", "clamped"),
        "difference",
    ],
)
def test_a_function_of_one_value_is_one_table(body: Any, changes: dict[str, Any]) -> None:
    values = every_value("int8").reshape(16, 16)
    types = {"x": relax.TensorType(values.shape, "int8")}
    before = module(types, lambda x: body(x, **changes))
    after = relax.transform.DeadCodeElimination()(TabulateBytes()(before))
    text = after.script()
    assert "quantized_multiply" not in text
    assert text.count("R.qnn.quantized_lookup") == 1
    (old,), (new,) = (evaluate(mod, [values]) for mod in (before, after))
    assert np.unique(new).size > 50
    np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize(
    "body",
    [
        lambda x, y: product(x, looked_up(y, 0)),
        lambda x, y: product(looked_up(x, 0), looked_up(y, 0)),
    ],
)
def test_products_of_two_tensors_stay(body: Any) -> None:
    type_ = relax.TensorType((4, 4), "int8")
    before = module({"x": type_, "y": type_}, body)
    tvm.ir.assert_structural_equal(TabulateBytes()(before), before)


def test_words_stay() -> None:
    scales = {"lhs_zero_point": 0, "rhs_zero_point": 0, "output_zero_point": 0}
    before = module(
        {"x": relax.TensorType((4, 4), "int16")},
        lambda x: product(x, x, out_dtype="int16", **scales),
    )
    tvm.ir.assert_structural_equal(TabulateBytes()(before), before)


def test_what_one_operator_does_to_one_tensor_stays() -> None:
    type_ = relax.TensorType((4, 4), "int8")
    for body in (rescaled, clamped, lambda x: quantized_lookup(x, relax.const(TABLES[0]))):
        before = module({"x": type_}, body)
        tvm.ir.assert_structural_equal(TabulateBytes()(before), before)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: product(x, relax.const(np.arange(4, dtype=np.int8))),
        lambda x: rescaled(looked_up(x, 0), input_scale=[0.1, 0.2, 0.3, 0.4]),
        lambda x: product(number(5, 2, 1, 1), x),
    ],
    ids=["constants by channel", "scales by channel", "repeated"],
)
def test_what_is_not_one_function_of_one_value_stays(body: Any) -> None:
    before = module({"x": relax.TensorType((4, 4), "int8")}, body)
    tvm.ir.assert_structural_equal(TabulateBytes()(before), before)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (0, 3)])
@pytest.mark.parametrize("constant", [(), (1,), (1, 1), "alike"])
@pytest.mark.parametrize("is_first", [False, True])
def test_sums_of_onnx_runtime_are_rounded_as_before(
    shape: tuple[int, ...], constant: Any, is_first: bool
) -> None:
    # A scale for which the order of the two fused multiply-adds shows.
    other = number(31, *(shape if constant == "alike" else constant))
    attrs = {"arithmetic": "onnxruntime", "lhs_scale": 0.01, "rhs_scale": 0.0175}

    def body(x: relax.Expr) -> relax.Call:
        return total(*((other, x) if is_first else (x, other)), **attrs, output_scale=0.021)

    before = module({"x": relax.TensorType(shape, "int8")}, body)
    after = TabulateBytes()(before)
    assert ("quantized_lookup" in after.script()) == (math.prod(shape) > 1)
    for value in every_value("int8"):
        inputs = [np.full(shape, value, "int8")]
        np.testing.assert_array_equal(evaluate(after, inputs)[0], evaluate(before, inputs)[0])
