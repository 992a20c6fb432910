from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

import legalize
from legalize.passes.float_functions import own_functions
from qnn_ops import float_function
from tests.support.modules import module
from tests.support.operators import run

SHAPE = (3, 5, 7)


@pytest.mark.parametrize("softmax", [R.nn.softmax, R.nn.log_softmax])
def test_softmax_and_erf_are_written(softmax: Any) -> None:
    mod = module({"x": relax.TensorType(SHAPE, "float32")}, lambda x: softmax(R.erf(x), 1))
    written = own_functions(mod)
    assert "R.nn" not in written.script()
    assert "R.erf" not in written.script()
    data = np.random.default_rng(1).normal(0, 3, SHAPE).astype(np.float32)
    erf = float_function.evaluate(data, "erf")
    terms = float_function.evaluate(erf - erf.max(1, keepdims=True), "exp")
    expected = terms / terms.sum(1, keepdims=True)
    expected = expected if softmax is R.nn.softmax else np.log(expected)
    result = run(legalize.LegalizeQnn()(written), [data])
    np.testing.assert_allclose(result, expected, rtol=2e-6)


def test_other_dtypes_stay() -> None:
    mod = module({"x": relax.TensorType(SHAPE, "float64")}, R.erf)
    tvm.ir.assert_structural_equal(own_functions(mod), mod)
