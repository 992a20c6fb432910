from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.rounded import rounded
from tests.support.modules import module
from tests.support.operators import run
from tvm_qnn import host_target


def test_a_product_is_rounded_before_a_sum() -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=4000).astype(np.float32) for _ in range(3)]
    arrays[0][:4] = np.nan, np.inf, -np.inf, 3e38
    arrays[1][:4] = 1, 1, 1, -3e38
    types = {name: relax.TensorType((4000,), "float32") for name in "xyz"}

    def body(x: relax.Expr, y: relax.Expr, z: relax.Expr) -> relax.Expr:
        return R.add(rounded(relax.BlockBuilder.current().emit(R.multiply(x, y))), z)

    with np.errstate(all="ignore"):
        expected = arrays[0] * arrays[1] + arrays[2]
    actual = run(relax.transform.Normalize()(module(types, body)), arrays, host_target())
    np.testing.assert_array_equal(actual, expected)
