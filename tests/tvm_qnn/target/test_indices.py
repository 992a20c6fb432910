from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

from qnn_ops import quantized_lookup
from tests.support.arrays import full_range
from tests.support.modules import module
from tvm_qnn import build
from tvm_qnn.target.indices import wide_indices

X = full_range(np.random.default_rng(0), "uint8", (3, 9, 11, 8))


def tiled(x: relax.Expr) -> relax.Expr:
    return R.tile(R.permute_dims(x, [2, 1, 3, 0]), [2, 1, 2, 1])


@pytest.mark.parametrize("target", ["host", "x86-sse4.1"])
@pytest.mark.parametrize("kernels", [True, False])
def test_tiles_of_powers_of_two_are_right(target: str, kernels: bool) -> None:
    table = full_range(np.random.default_rng(1), "uint8", (256,))
    mod = module(
        {"x": relax.TensorType(X.shape, "uint8")},
        lambda x: quantized_lookup(tiled(x), relax.const(table)),
    )
    expected = table[np.tile(X.transpose(2, 1, 3, 0), [2, 1, 2, 1])]
    np.testing.assert_array_equal(build(mod, target, kernels=kernels).run(X), expected)


@pytest.mark.parametrize(
    ("body", "is_wide"),
    [
        (tiled, True),
        (lambda x: R.permute_dims(x, [2, 1, 3, 0]), False),
        (lambda x: R.add(x, x), False),
    ],
)
def test_only_remainders_by_powers_of_two_widen(
    body: Callable[[relax.Expr], relax.Expr], is_wide: bool
) -> None:
    mod = relax.transform.LegalizeOps()(module({"x": relax.TensorType(X.shape, "uint8")}, body))
    functions = [function for name, function in mod.functions.items() if name.name_hint != "main"]
    assert bool(wide_indices(functions)) is is_wide
