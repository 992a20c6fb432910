from typing import Any

import pytest
import tvm

from qnn_ops import quantized_add, quantized_subtract
from tests.legalize.kernels.conv2d.x86.test_fusions import DTYPES, Problem, check
from tests.support.kernels import Place, each_x86_product


@each_x86_product
def test_four_vectors_and_those_that_are_left(place: Place) -> None:
    problems = [
        Problem(operator, channels, dtypes, is_rhs=operator is quantized_add)
        for operator in (quantized_add, quantized_subtract)
        for channels, dtypes in zip((128, 80, 117), DTYPES, strict=True)
    ]
    # Scales that make ties, which take an addend of their own below zero.
    ties = [
        Problem(quantized_add, channels, DTYPES[0], is_rhs=True, scale=1.0, output_scale=2.0)
        for channels in (64, 16)
    ]
    for tied in ties:
        tied.sum |= {"rhs_scale": 2.0, "output_scale": 4.0}
    check(place, [*problems, *ties])


@pytest.mark.parametrize(
    ("cpu", "channels", "by_pairs"),
    [
        ("cascadelake", 64, True),
        ("cascadelake", 63, True),
        ("cascadelake", 48, True),
        ("cascadelake", 16, True),
        ("skylake-avx512", 64, True),
        ("skylake-avx512", 63, True),
        ("skylake-avx512", 48, False),
        ("haswell", 32, True),
        ("haswell", 30, True),
        ("haswell", 16, True),
        ("haswell", 24, False),
        ("nehalem", 16, True),
        ("nehalem", 7, True),
        ("nehalem", 4, False),
    ],
)
def test_vectors_are_added_to_in_pairs(cpu: str, channels: int, by_pairs: bool) -> None:
    """This takes no products of 32 bits; one vector that is left over mostly does."""
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu})
    # With a rounding that no floats of 32 bits do.
    problem = Problem(quantized_add, channels, DTYPES[0], is_rhs=False, rounding="float64")
    function = problem.case(target).function
    assembly = tvm.compile(function, target=target).mod.inspect_source("asm")
    assert ("pmulld" not in assembly) == by_pairs


@pytest.mark.parametrize("channels", [64, 63, 48, 16])
def test_vnni_takes_no_product_apart_from_its_sum(channels: int) -> None:
    target = tvm.target.Target({"kind": "llvm", "mcpu": "cascadelake"})
    function = Problem(quantized_add, channels, DTYPES[0], is_rhs=False).case(target).function
    assembly = tvm.compile(function, target=target).mod.inspect_source("asm")
    assert "vpdpwssd" in assembly
    assert "pmaddwd" not in assembly


@pytest.mark.parametrize("cpu", ["cascadelake", "haswell"])
@pytest.mark.parametrize("channels", [64, 48, 16])
def test_sums_that_differ_in_numbers_share_a_function(cpu: str, channels: int) -> None:
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu})
    numbers: list[dict[str, Any]] = [
        {"scale": 3.1, "output_zero_point": 3},
        {"scale": 2.9, "output_zero_point": 4},
    ]
    functions = [
        Problem(quantized_add, channels, DTYPES[0], is_rhs=False, **each).case(target).function
        for each in numbers
    ]
    tvm.ir.assert_structural_equal(*functions)
