from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.round_products import round_products
from tests.support.modules import module
from tests.support.operators import run
from tvm_qnn import host_target

SHAPE = (4, 100)
REAL = relax.TensorType(SHAPE, "float32")


def difference(x: Any, y: Any, z: Any) -> relax.Expr:
    return R.subtract(R.multiply(x, y), z)


def moved(x: Any, y: Any, z: Any) -> relax.Expr:
    return R.subtract(R.reshape(R.reshape(R.multiply(x, y), (400,)), SHAPE), z)


def cast(x: Any, y: Any, z: Any) -> relax.Expr:
    return R.subtract(R.astype(R.multiply(x, y), "float32"), z)


def negated(x: Any, y: Any, z: Any) -> relax.Expr:
    return R.add(R.negative(R.multiply(x, y)), z)


def test_products_are_rounded_before_sums() -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.normal(size=SHAPE).astype(np.float32) for _ in range(2))
    arrays = [x, y, x * y]
    for body in (difference, moved, cast, negated):
        mod = module(dict.fromkeys("xyz", REAL), body)
        assert "R.where" not in mod.script()
        rounded = round_products(mod)
        assert "R.where" in rounded.script()
        np.testing.assert_array_equal(run(rounded, arrays, host_target()), np.zeros(SHAPE))


def test_other_products_stay() -> None:
    mod = module({"x": REAL}, lambda x: R.sqrt(R.multiply(R.multiply(x, x), x)))
    tvm.ir.assert_structural_equal(round_products(mod), mod)
