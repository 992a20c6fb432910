"""exp and tanh are arithmetic, with the bits of glibc's expf and of the nearest tanh."""

import platform
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.legalize_ops import POWERS_OF_TWO, LegalizeOps
from qnn_ops.arithmetic.c_functions import by_c
from qnn_ops.arrays import Array
from tests.support.modules import module
from tvm_qnn import build
from tvm_qnn.target.target import parse_target

STEP = 65537
"""Every 65537th number is tested. A search of all 2^32 found no difference either."""


def numbers() -> Array:
    """Return float32 numbers of all sizes, the ends of exp, and numbers that are not finite."""
    ends = np.array([-103.97208, -103.97207, 88.72283, 88.72284, -0.0, np.inf, -np.inf, np.nan])
    spread = np.arange(0, 1 << 32, STEP).astype(np.uint32).view(np.float32)
    return np.concatenate([spread[~np.isnan(spread)], ends.astype(np.float32)])


def computed(function: Any, data: Array, target: str = "host") -> Array:
    return np.asarray(build(module({"x": data}, function), target=target).run(data))


def assert_same_bits(result: Array, expected: Array) -> None:
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(result), is_nan)
    found, bits = (each[~is_nan].view(np.int32) for each in (result, expected))
    np.testing.assert_array_equal(found, bits)


def test_polynomial_is_the_nearest_power_of_two_at_all_places_of_the_table() -> None:
    def polynomial(place: Fraction) -> float:
        total = POWERS_OF_TWO[0]
        for coefficient in POWERS_OF_TWO[1:]:
            total = float(Fraction(total) * place + Fraction(coefficient))
        return total

    found = [polynomial(Fraction(part, 32)) for part in range(32)]
    assert found == [float(Decimal(2) ** (Decimal(part) / 32)) for part in range(32)]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_exp_has_the_bits_of_the_c_library() -> None:
    data = numbers()
    assert_same_bits(computed(R.exp, data), by_c("expf", np.exp, data))


@pytest.mark.parametrize("target", ["host", "x86-sse4.1"])
def test_tanh_is_the_nearest_number(target: str) -> None:
    """With fused multiply-adds, and without them."""
    data = numbers()
    result = computed(lambda x: R.astype(R.tanh(R.astype(x, "float64")), "float32"), data, target)
    assert_same_bits(result, np.tanh(data.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize(
    ("target", "dtype", "is_own"),
    [
        ({"kind": "llvm", "mcpu": "znver4"}, "float32", True),
        ({"kind": "llvm", "mcpu": "znver4"}, "float64", False),
        ({"kind": "llvm", "mcpu": "x86-64"}, "float32", False),
    ],
    ids=["fused", "float64", "no fused multiply-adds"],
)
def test_exp_is_own_code_only_of_float32_with_fused_multiply_adds(
    target: dict[str, str], dtype: str, *, is_own: bool
) -> None:
    mod = module({"x": relax.TensorType((4,), dtype)}, R.exp)
    lowered = LegalizeOps(tvm.target.Target(target))(mod)
    assert ("llvm.fma" in lowered.script()) == is_own


@pytest.mark.parametrize(
    ("target", "is_own"), [("x86-sse4.1", True), ("c", False)], ids=["machine code", "plain C"]
)
def test_tanh_is_own_code_but_in_plain_c(target: str, *, is_own: bool) -> None:
    mod = module({"x": relax.TensorType((4,), "float64")}, R.tanh)
    lowered = LegalizeOps(parse_target(target))(mod)
    assert ("llvm.copysign" in lowered.script()) == is_own
    assert ("T.tanh" in lowered.script()) != is_own
