from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.pairs.plan import pairs_plan
from legalize.kernels.conv2d.x86.pairs.weights import ListedKSteps
from legalize.kernels.isa.x86 import AVX2, AVX512BW, SSE41, Isa
from tests.legalize.kernels.conv2d.x86.test_kernel import SPEC, check, specs
from tests.support.convolutions import changed
from tests.support.definition import accumulators
from tests.support.x86 import PROCESSORS, each_isa, examples, run_conv

Array = np.ndarray[Any, Any]


@each_isa
def test_equals_the_definition(isa: Isa) -> None:
    if isa.has_byte_products:
        pytest.skip("it needs no pairs")

    @settings(max_examples=examples(20, PROCESSORS[isa][0]))
    @given(
        specs(),
        st.sampled_from(["random", "ends", "min", "max"]),
        st.sampled_from([-31, -14, -11, -8, 0, 3]),
        st.integers(0, 2**32 - 1),
    )
    def run(spec_and_zero_point: tuple[ConvSpec, int], how: str, shift: int, seed: int) -> None:
        check(*spec_and_zero_point, how, shift, seed, isa, pairs_plan)

    run()


@each_isa
@pytest.mark.parametrize("zero_point", [-128, 127])
def test_the_largest_sums_are_exact(zero_point: int, isa: Isa) -> None:
    if isa.has_byte_products:
        pytest.skip("it needs no pairs")
    spec = changed(
        SPEC,
        in_height=3,
        in_channels=260,
        input_zero_point=0 if zero_point > 0 else 255,
        dtype="int32",
        has_asymmetric_kernel=True,
    )
    for how in ("min", "max"):
        check(spec, zero_point, how, isa=isa, planned=pairs_plan)


def worst_data(kernel: Array) -> Array:
    """For each channel the data that makes its sums largest, and the one that makes them least."""
    channels = kernel.reshape(len(kernel), -1)
    return np.concatenate([255 * (channels > 0), 255 * (channels < 0)]).astype(np.uint8)


@each_isa
@pytest.mark.parametrize("weights", ["limit", "above", "random", "mixed"])
def test_sums_of_two_k_steps_are_exact(weights: str, isa: Isa) -> None:
    if isa.has_byte_products:
        pytest.skip("it needs no pairs")
    rng = np.random.default_rng(0)
    shape = 33, 1, 1, 132
    signs = rng.choice(np.array([-1, 1]), (33, 1, 1, 1))
    values = {
        "limit": 32 * signs * np.ones(shape),
        "above": 33 * signs * np.ones(shape),
        "random": rng.integers(-32, 33, shape),
        "mixed": np.clip(np.rint(rng.normal(0, 28, shape)), -128, 127),
    }
    kernel = values[weights].astype(np.int8)
    data = worst_data(kernel)[None, :, None]
    spec = changed(
        SPEC,
        in_height=len(data[0]),
        in_width=1,
        in_channels=132,
        kernel_height=1,
        kernel_width=1,
        out_channels=33,
        dtype="int32",
    )
    bias, multiplier = np.arange(33, dtype=np.int32), np.full(33, 1 << 30, np.int32)
    got = run_conv(spec, data, kernel, 0, bias, multiplier, multiplier * 0, isa, pairs_plan)
    np.testing.assert_array_equal(got, accumulators(spec, data, kernel, 0, bias))


@pytest.mark.parametrize(
    ("isa", "mcpu", "registers"),
    [
        (AVX512BW, "skylake-avx512", "%zmm"),
        (AVX2, "haswell", "%ymm"),
        (AVX2, "znver3", "%ymm"),
        (SSE41, "nehalem", "%xmm"),
    ],
)
@pytest.mark.parametrize("sigma", [15, 27, 40])
def test_sums_stay_in_registers(isa: Isa, mcpu: str, registers: str, sigma: float) -> None:
    """Between two products of bytes nothing is stored: accumulators are not spilled."""
    spec = replace(
        SPEC, in_height=14, in_width=14, in_channels=256, kernel_height=1, kernel_width=1
    )
    values = np.random.default_rng(0).normal(0, sigma, (32, 1, 1, 256))
    kernel = np.clip(np.rint(values), -127, 127).astype(np.int8)
    shift = np.full(32, -9, np.int32)
    plan = pairs_plan(spec, isa)
    packed = plan.pack(Weights(kernel, 0, None, shift * 0 + (1 << 30), shift))
    assert isinstance(packed.known, ListedKSteps)
    assert packed.known.has_orders == (sigma == 40)
    assert packed.known.kinds[0] or sigma == 40
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    lines = tvm.compile(plan.function(packed), target=target)
    text = lines.mod.inspect_source("asm").splitlines()
    products = [number for number, line in enumerate(text) if "pmaddubsw" in line]
    assert products
    stores = re.compile(rf"v?mov\w+\s+{registers}\d+, .*\(")
    for first, second in pairwise(products):
        # Other lines between two products of a loop than those between loops.
        if second - first < 12:
            assert not any(stores.search(line) for line in text[first:second])
