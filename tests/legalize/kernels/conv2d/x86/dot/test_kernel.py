from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.tiling import shares_columns
from legalize.kernels.isa.x86 import AVX512_VNNI, AVX_VNNI, Isa
from tests.legalize.kernels.conv2d.x86.test_kernel import check, inner_loops
from tests.support.convolutions import problems_of
from tests.support.x86 import each_isa, optimized

# Of 16 × 16 outputs.
SPEC = ConvSpec(1, 18, 18, 16, 3, 3, 16, input_zero_point=3, output=OutputStage("uint8", 0, 0, 255))


@each_isa
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"padding": (1, 1, 1, 1), "in_height": 4, "in_width": 8},
        {"batch": 2, "in_height": 5, "in_channels": 4},
        {"kernel_height": 1, "kernel_width": 5, "in_width": 12},
        {"dilation": (3, 1), "in_height": 8},
    ],
    ids=["plain", "padded", "batch", "row", "dilated"],
)
def test_pixels_side_by_side_equal_the_definition(isa: Isa, changes: dict[str, Any]) -> None:
    spec = replace(SPEC, **changes)
    check(problems_of(replace(spec, out_channels=count) for count in (8, 13, 16, 40)), isa)


@pytest.mark.parametrize(
    ("isa", "mcpu", "channels"),
    [
        (AVX512_VNNI, "cascadelake", 16),
        (AVX512_VNNI, "sapphirerapids", 64),
        (AVX512_VNNI, "znver4", 32),
        (AVX_VNNI, "alderlake", 8),
    ],
)
def test_each_column_is_loaded_once(isa: Isa, mcpu: str, channels: int) -> None:
    spec = replace(SPEC, in_width=26, in_channels=channels, out_channels=channels)
    plan = dot_plan(spec, isa)
    (section,) = plan.tiling
    assert shares_columns(spec, plan.products, section.nr, section.mr)
    packed = plan.pack(Weights(np.ones((channels, 3, 3, channels), np.int8), 0, None, 1 << 30, -8))
    library = tvm.compile(plan.function(packed), target=optimized(mcpu))
    (loop,) = inner_loops(library.mod.inspect_source("asm"))
    names = [words[0] for words in loop]
    # LLVM may write a few K-steps one after the other.
    k_steps, rest = divmod(names.count("vpdpbusd"), 3 * section.mr * section.nr)
    assert not rest
    assert names.count("vpbroadcastd") == k_steps * (section.mr + 2)
    # No accumulator is kept in memory.
    assert not [words for words in loop if words[0].startswith("vmov") and "(" in words[-1]]
