import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import tvm

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.x86.pairs.plan import pairs_plan
from legalize.kernels.conv2d.x86.pairs.weights import ListedKSteps
from legalize.kernels.isa.x86 import AVX2, AVX512BW, SSE41, Isa
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.test_kernel import SPEC
from tests.support.convolutions import changed
from tests.support.definition import accumulators
from tests.support.x86 import each_isa, run_convs


def worst_data(kernel: Array) -> Array:
    """For each channel the data that makes its sums largest, and the one that makes them least."""
    channels = kernel.reshape(len(kernel), -1)
    return np.concatenate([255 * (channels > 0), 255 * (channels < 0)]).astype(np.uint8)


@each_isa
def test_sums_of_two_k_steps_are_exact(isa: Isa) -> None:
    if isa.has_byte_products:
        pytest.skip("it needs no pairs")
    rng = np.random.default_rng(0)
    shape = 33, 1, 1, 132
    signs = rng.choice(np.array([-1, 1]), (33, 1, 1, 1))
    kernels = {
        "limit": 32 * signs * np.ones(shape),
        "above": 33 * signs * np.ones(shape),
        "random": rng.integers(-32, 33, shape),
        "mixed": np.clip(np.rint(rng.normal(0, 28, shape)), -128, 127),
    }
    spec = changed(
        SPEC,
        in_height=66,
        in_width=1,
        in_channels=132,
        kernel_height=1,
        kernel_width=1,
        out_channels=33,
        dtype="int32",
    )
    bias, multiplier = np.arange(33, dtype=np.int32), np.full(33, 1 << 30, np.int32)
    tried = []
    for values in kernels.values():
        kernel = values.astype(np.int8)
        data = worst_data(kernel)[None, :, None]
        tried.append((spec, data, Weights(kernel, 0, bias, multiplier, multiplier * 0)))
    results = run_convs(tried, isa, pairs_plan)
    for name, got, (_, data, weights) in zip(kernels, results, tried, strict=True):
        sums = accumulators(spec, data, weights.kernel, 0, bias)
        np.testing.assert_array_equal(got, sums, err_msg=name)


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
