from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.passes import TabulateProducts
from qnn_ops import quantized_lookup, quantized_multiply
from tests.support.arrays import every_value
from tests.support.modules import module
from tests.support.references import evaluate

TABLES = [np.random.default_rng(seed).integers(-128, 128, 256).astype(np.int8) for seed in range(2)]


def product(lhs: relax.Expr, rhs: relax.Expr, **changes: Any) -> relax.Call:
    attrs: dict[str, Any] = {
        "lhs_scale": 0.05,
        "lhs_zero_point": 3,
        "rhs_scale": 0.04,
        "rhs_zero_point": -7,
        "output_scale": 0.06,
        "output_zero_point": 5,
        "out_dtype": "int8",
    }
    return quantized_multiply(lhs, rhs, **{**attrs, **changes})


def looked_up(x: relax.Expr, number: int) -> relax.Expr:
    return relax.BlockBuilder.current().emit(quantized_lookup(x, relax.const(TABLES[number])))


@pytest.mark.parametrize("changes", [{}, {"arithmetic": "onnxruntime", "out_dtype": "uint8"}])
@pytest.mark.parametrize(
    "body",
    [
        lambda x, **changes: product(x, looked_up(x, 0), **changes),
        lambda x, **changes: product(looked_up(x, 0), looked_up(x, 1), **changes),
        lambda x, **changes: product(x, x, **changes),
    ],
    ids=["swish", "two tables", "square"],
)
def test_a_function_of_one_value_is_one_table(body: Any, changes: dict[str, Any]) -> None:
    values = every_value("int8").reshape(16, 16)
    types = {"x": relax.TensorType(values.shape, "int8")}
    before = module(types, lambda x: body(x, **changes))
    after = relax.transform.DeadCodeElimination()(TabulateProducts()(before))
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
    tvm.ir.assert_structural_equal(TabulateProducts()(before), before)


def test_words_stay() -> None:
    scales = {"lhs_zero_point": 0, "rhs_zero_point": 0, "output_zero_point": 0}
    before = module(
        {"x": relax.TensorType((4, 4), "int16")},
        lambda x: product(x, x, out_dtype="int16", **scales),
    )
    tvm.ir.assert_structural_equal(TabulateProducts()(before), before)
