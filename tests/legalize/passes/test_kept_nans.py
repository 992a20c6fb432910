import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.kept_nans import keep_nans
from qnn_ops import dequantize
from tests.support.modules import module
from tests.support.operators import run

FLOATS = {"x": relax.TensorType((4,), "float32")}
DATA = np.array([np.nan, -2, 0.5, 7], np.float32)


def test_of_a_constant_and_data_the_constant_is_first() -> None:
    def clipped(x: relax.Expr) -> relax.Expr:
        return R.clip(R.nn.relu(x), 0.25, 6)

    kept = keep_nans(module(FLOATS, clipped))
    assert "isnan" not in kept.script()
    np.testing.assert_array_equal(run(kept, [DATA]), np.clip(DATA, 0.25, 6))


def test_of_two_tensors_either_may_be_nan() -> None:
    kept = keep_nans(module(FLOATS, lambda x: R.maximum(x, R.negative(x))))
    np.testing.assert_array_equal(run(kept, [DATA]), np.abs(DATA))


def test_what_is_dequantized_is_never_nan() -> None:
    def sized(q: relax.Expr) -> relax.Expr:
        return R.maximum(dequantize(q, 0.5, 3), dequantize(q, 0.25, 1))

    mod = module({"q": relax.TensorType((4,), "int8")}, sized)
    tvm.ir.assert_structural_equal(keep_nans(mod), mod)


def test_integers_stay() -> None:
    mod = module({"x": relax.TensorType((4,), "int32")}, R.sign)
    tvm.ir.assert_structural_equal(keep_nans(mod), mod)
