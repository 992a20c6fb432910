from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.plan import TilePlan
from legalize.kernels.conv2d.x86.choice import choose_kernel
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan
from legalize.kernels.isa.x86 import AMX, AVX2, AVX512_VNNI, AVX512BW, SSE41, Isa
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.legalize.kernels.conv2d.x86.test_products import POINTWISE, weights

THREE = replace(sized(28, 28, 128, 128, 3), has_asymmetric_kernel=False)


def chosen(spec: ConvSpec, isa: Isa) -> tuple[str, str, type]:
    """Dtype of the staged data, name of the products, kind of the plan."""
    staged, multiplied, plan = choose_kernel(spec, isa, weights(spec, 15), np.array(0))
    products = "pairs" if multiplied.pairs_bytes else multiplied.weight_dtype
    return staged.staged_dtype, products, type(plan)


@pytest.mark.parametrize("isa", [AVX512BW, AVX2, SSE41], ids=lambda isa: isa.name)
def test_without_byte_products_small_kernels_are_transformed(isa: Isa) -> None:
    assert chosen(THREE, isa) == ("uint8", "int16", WinogradPlan)
    assert chosen(POINTWISE, isa) == ("uint8", "pairs", type(None))


def test_byte_products_leave_nothing_to_be_saved() -> None:
    assert chosen(THREE, AVX512_VNNI) == ("uint8", "int8", type(None))


def test_tiles_come_before_vectors() -> None:
    assert chosen(THREE, AMX) == ("uint8", "int8", TilePlan)
