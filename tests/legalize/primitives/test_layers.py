"""Convolutions, dense layers and products of matrices in Relax primitives."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import legalize
from qnn_ops import blockwise_dense, quantized_dense, quantized_matmul
from tests.support.arrays import full_range
from tests.support.block_weights import POINTS, Shape, exact_layer
from tests.support.encodings import encodings
from tests.support.operators import check_operator, check_operators, module_of, run


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
    attrs = encodings(
        input=(1.0, 0), kernel=(factors.tolist(), 0), output=(210.0, 0), out_dtype="int8"
    )
    operands: list[Any] = [np.zeros((1, 1), np.int8), np.zeros((factors.size, 1), np.int8), bias]
    multipliers = factors / 210.0
    assert any(
        Fraction(int(total)) * Fraction(multiplier) < Fraction(tie)
        for total, multiplier, tie in zip(bias, multipliers, ties, strict=True)
    )
    lowered = legalize.LegalizeQnn()(module_of(quantized_dense, operands, **attrs))
    target = {"kind": "llvm", "mcpu": "haswell", "opt-level": 3}  # LLVM may contract
    actual = run(lowered, operands, target)
    np.testing.assert_array_equal(actual, [np.ceil(ties)])


@pytest.mark.parametrize(
    ("lhs", "rhs", "transposed", "dtypes"),
    [
        ((2, 3, 4, 7), (2, 1, 7, 5), False, ("int8", "int8", "int8")),
        ((4, 7), (3, 5, 7), True, ("uint8", "int8", "uint8")),
        ((1, 40000), (40000, 2), False, ("int8", "uint8", "int8")),
    ],
)
def test_primitives_equal_the_reference_of_quantized_matmul(
    lhs: tuple[int, ...], rhs: tuple[int, ...], transposed: bool, dtypes: tuple[str, str, str]
) -> None:
    rng = np.random.default_rng(len(lhs))
    operands = [
        full_range(rng, dtype, shape) for dtype, shape in zip(dtypes[:2], (lhs, rhs), strict=True)
    ]
    points = [int(full_range(rng, dtype, ())) for dtype in dtypes]
    attrs = encodings(
        lhs=(0.1, points[0]),
        rhs=(0.2, points[1]),
        output=(0.02 * 70 * 70 * lhs[-1] ** 0.5 / 60, points[2]),
        out_dtype=dtypes[2],
        transpose_rhs=transposed,
    )
    roundings = ("tflite", "float32")
    check_operators(
        [(quantized_matmul, operands, {**attrs, "rounding": each}) for each in roundings]
    )


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize(
    "shape", [(1, 64, 5, 4, 16), (3, 41, 7, 8, 16), (2, 200, 4, 4, 32), (2, 50, 4, 2, 16)]
)
def test_primitives_equal_the_reference_of_blockwise_dense(shape: Shape, points: str) -> None:
    *_, bits, size = shape
    check_operator(blockwise_dense, exact_layer(shape, points), bits=bits, block_size=size)


@pytest.mark.parametrize("points", ["none", "bytes"])
@pytest.mark.parametrize("shape", [(1, 64, 5, 4, 16), (3, 41, 7, 8, 16), (2, 50, 4, 2, 16)])
def test_integers_equal_the_reference(shape: Shape, points: str) -> None:
    *_, bits, size = shape
    how = {"bits": bits, "block_size": size, "quantizes_data": True}
    check_operator(blockwise_dense, exact_layer(shape, points), **how)


def test_sums_of_any_numbers_are_near() -> None:
    data, *others = exact_layer((3, 200, 8, 4, 32), "floats")
    rng = np.random.default_rng(7)
    how: dict[str, Any] = {"bits": 4, "block_size": 32}
    operands = [rng.normal(0, 1, data.shape).astype(np.float32), *others]
    mod = legalize.LegalizeQnn()(module_of(blockwise_dense, operands, **how))
    expected = blockwise_dense.evaluate(*operands, **how)
    # The order of sums is free.
    np.testing.assert_allclose(run(mod, operands), expected, atol=1e-4)
