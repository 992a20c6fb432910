from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.products import choose_products
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, SSE41, Isa
from tests.legalize.kernels.conv2d.x86.test_kernel import SPEC

Array = np.ndarray[Any, Any]

POINTWISE = replace(
    SPEC, in_height=14, in_width=14, in_channels=256, kernel_height=1, kernel_width=1
)


def weights(spec: ConvSpec, sigma: float) -> Array:
    shape = spec.out_channels, spec.kernel_height, spec.kernel_width, spec.in_channels
    values = np.random.default_rng(0).normal(0, sigma, shape)
    return np.clip(np.rint(values), -127, 127).astype(np.int8)


def products(spec: ConvSpec, isa: Isa, kernel: Array, zero_point: int = 0) -> tuple[str, bool]:
    chosen, multiplied = choose_products(spec, isa, kernel, np.array(zero_point))
    return chosen.staged_dtype, multiplied.pairs_bytes


@pytest.mark.parametrize("isa", [AVX512BW, AVX2, SSE41])
@pytest.mark.parametrize("spec", [SPEC, POINTWISE])
def test_small_weights_are_multiplied_as_bytes(spec: ConvSpec, isa: Isa) -> None:
    assert products(spec, isa, weights(spec, 15)) == ("uint8", True)


def test_large_weights_are_multiplied_as_words() -> None:
    wide = replace(POINTWISE, out_channels=256)
    kernel = np.full((256, 1, 1, 256), 127, np.int8)
    assert products(wide, AVX2, kernel) == ("int16", False)


def test_weights_count_from_their_zero_point() -> None:
    kernel = np.full((32, 1, 1, 256), 190, np.uint8)
    assert products(POINTWISE, AVX2, kernel, 128)[1]
    assert not products(POINTWISE, AVX2, kernel, 0)[1]


def test_byte_products_take_any_weights() -> None:
    assert choose_products(SPEC, AVX512_VNNI, weights(SPEC, 15), np.array(0)) == (
        SPEC,
        AVX512_VNNI,
    )
