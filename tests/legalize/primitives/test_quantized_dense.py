from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import legalize
from qnn_ops import quantized_dense
from tests.support.cases.quantized_dense import dense_layers
from tests.support.operators import check_operator, module_of, run


@given(dense_layers())
@settings(max_examples=25)
def test_primitives_equal_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    operands, attrs = case
    check_operator(quantized_dense, operands, **attrs)


def cpu_flags() -> set[str]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return {flag for line in lines if line.startswith("flags") for flag in line.split()}


@pytest.mark.skipif(not {"fma", "avx2"} <= cpu_flags(), reason="this machine has no x86 FMA")
def test_float64_rounding_is_not_contracted_to_fma() -> None:
    # Sums that lie on a tie, times multipliers that float64 does not hold exactly: the product
    # rounds to the tie, which an FMA of product and subtraction would not see.
    factors = np.repeat([1, 3, 5, 7, 15, 21, 35], 120)
    ties = np.tile(np.arange(120) + 0.5, 7)
    bias = (210 / factors * ties).astype(np.int32)
    attrs: dict[str, Any] = {
        "input_scale": 1.0,
        "input_zero_point": 0,
        "kernel_scale": factors.tolist(),
        "kernel_zero_point": 0,
        "output_scale": 210.0,
        "output_zero_point": 0,
        "out_dtype": "int8",
    }
    operands: list[Any] = [np.zeros((1, 1), np.int8), np.zeros((factors.size, 1), np.int8), bias]
    multipliers = factors / 210.0
    assert any(
        Fraction(int(total)) * Fraction(multiplier) < Fraction(tie)
        for total, multiplier, tie in zip(bias, multipliers, ties, strict=True)
    )
    lowered = legalize.LegalizeQnn()(module_of(quantized_dense, operands, **attrs))
    actual = run(lowered, operands, {"kind": "llvm", "mcpu": "haswell"})
    np.testing.assert_array_equal(actual, [np.ceil(ties)])
