from __future__ import annotations

import pytest
import tvm

from qnn_ops import quantized_add, quantized_subtract
from tests.legalize.kernels.x86.test_sum_rules import DTYPES, Problem, check, each_x86_place
from tests.support.kernels import Place


@each_x86_place
def test_four_vectors_and_those_that_are_left(place: Place) -> None:
    problems = [
        Problem(operator, channels, dtypes, is_rhs=operator is quantized_add)
        for operator in (quantized_add, quantized_subtract)
        for channels, dtypes in zip((128, 80, 117), DTYPES, strict=True)
    ]
    # Scales that make ties, which take an addend of their own below zero.
    tied = Problem(quantized_add, 64, DTYPES[0], is_rhs=True, scale=1.0, output_scale=2.0)
    tied.sum |= {"rhs_scale": 2.0, "output_scale": 4.0}
    check(place, [*problems, tied])


@pytest.mark.parametrize(("channels", "as_bytes"), [(64, True), (63, False), (48, False)])
def test_four_whole_vectors_are_added_to_as_bytes(channels: int, as_bytes: bool) -> None:
    """Which takes no products of 32 bits."""
    target = tvm.target.Target({"kind": "llvm", "mcpu": "cascadelake"})
    function = Problem(quantized_add, channels, DTYPES[0], is_rhs=False).case(target).function
    assembly = tvm.compile(function, target=target).mod.inspect_source("asm")
    assert ("vpmulld" not in assembly) == as_bytes
