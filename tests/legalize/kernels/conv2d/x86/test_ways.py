from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.plan import TilePlan
from legalize.kernels.conv2d.x86.dot.plan import DotPlan
from legalize.kernels.conv2d.x86.pairs.plan import PairsPlan
from legalize.kernels.conv2d.x86.ways import cheapest_plan
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan
from legalize.kernels.isa.x86 import AMX, AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41, Isa
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.legalize.kernels.conv2d.x86.test_kernel import SPEC

POINTWISE = replace(
    SPEC, in_height=14, in_width=14, in_channels=256, kernel_height=1, kernel_width=1
)
THREE = replace(sized(28, 28, 128, 128, 3), has_asymmetric_kernel=False)


def weights(spec: ConvSpec, sigma: float) -> Array:
    shape = spec.out_channels, spec.kernel_height, spec.kernel_width, spec.in_channels
    values = np.random.default_rng(0).normal(0, sigma, shape)
    return np.clip(np.rint(values), -127, 127).astype(np.int8)


def chosen(
    spec: ConvSpec, isa: Isa, kernel: Array | None = None, zero_point: int = 0
) -> tuple[str, str, type]:
    """The dtypes of the staged data and of its weights, and the way."""
    kernel = weights(spec, 15) if kernel is None else kernel
    plan = cheapest_plan(spec, isa, Weights(kernel, zero_point))
    return plan.spec.staged_dtype, plan.products.weight_dtype, type(plan)


@pytest.mark.parametrize("isa", [AVX512BW, AVX2, SSE41], ids=lambda isa: isa.name)
def test_without_byte_products_small_kernels_are_transformed(isa: Isa) -> None:
    assert chosen(THREE, isa) == ("uint8", "int16", WinogradPlan)
    assert chosen(POINTWISE, isa) == ("uint8", "int8", PairsPlan)


def test_beside_byte_products_larger_tiles_are_transformed() -> None:
    assert chosen(THREE, AVX512_VNNI) == ("uint8", "int16", WinogradPlan)
    assert chosen(POINTWISE, AVX512_VNNI) == ("uint8", "int8", DotPlan)
    assert chosen(THREE, AVX_VNNI) == ("uint8", "int8", DotPlan)


def test_tiles_come_before_vectors() -> None:
    assert chosen(THREE, AMX) == ("uint8", "int8", TilePlan)


@pytest.mark.parametrize("isa", [AVX512BW, AVX2, SSE41])
@pytest.mark.parametrize("spec", [replace(SPEC, kernel_height=2), POINTWISE])
def test_small_weights_are_multiplied_as_bytes(spec: ConvSpec, isa: Isa) -> None:
    assert chosen(spec, isa) == ("uint8", "int8", PairsPlan)


def test_large_weights_are_multiplied_as_words() -> None:
    wide = replace(POINTWISE, out_channels=256)
    kernel = np.full((256, 1, 1, 256), 127, np.int8)
    assert chosen(wide, AVX2, kernel) == ("int16", "int16", DotPlan)


def test_weights_count_from_their_zero_point() -> None:
    kernel = np.full((32, 1, 1, 256), 190, np.uint8)
    assert chosen(POINTWISE, AVX2, kernel, 128)[2] is PairsPlan
    assert chosen(POINTWISE, AVX2, kernel, 0)[2] is DotPlan


def test_byte_products_take_any_weights() -> None:
    plan = cheapest_plan(SPEC, AVX512_VNNI, Weights(weights(SPEC, 15)))
    assert isinstance(plan, DotPlan)
    assert (plan.spec, plan.products.isa) == (SPEC, AVX512_VNNI)
