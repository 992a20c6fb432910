from pathlib import Path

import pytest

from tests.legalize.passes.test_drop_constant_channels import Network
from tests.tvm_qnn.test_mcu import CEILINGS
from tvm_qnn import digits
from tvm_qnn.footprint.footprint import footprint
from tvm_qnn.footprint.instructions import TAKES

# Instructions of its layers but the pool of largest values, counted on emulated boards.
DIGITS = {
    "cortex-m0plus": 953_402,
    "cortex-m3": 385_190,
    "cortex-m4": 182_979,
    "cortex-m7": 195_409,
    "cortex-m55": 42_237,
    "riscv32": 468_837,
}


@pytest.mark.parametrize("core", CEILINGS)
@pytest.mark.parametrize("name", CEILINGS["cortex-m4"])
def test_estimates_of_networks_are_near_ceilings(name: str, core: str, shared: Path) -> None:
    told = footprint(shared / "models" / "tflite" / f"{name}.tflite", core)
    # The ceilings are up to 3 % above the counts, and estimates are within 8 % of these.
    assert told.estimated_instructions == pytest.approx(CEILINGS[core][name] * 1e6, rel=0.1)


@pytest.mark.parametrize("core", TAKES)
def test_estimates_of_a_small_network_are_near_its_counts(core: str) -> None:
    told = footprint(digits.model("int8"), core)
    estimates = {layer.code: layer.estimated_instructions for layer in told.layers}
    # TVM's own loops have no estimate, and a sum without them would not be that of the run.
    assert [code for code, count in estimates.items() if count is None] == ["MAX_POOL_2D"]
    assert told.estimated_instructions is None
    known = [layer.estimated_instructions or 0 for layer in told.layers]
    # Nothing was fitted to these counts. With Helium small layers take most of the error.
    assert sum(known) == pytest.approx(DIGITS[core], rel=0.2)


@pytest.mark.parametrize(
    ("core", "other"), [("cortex-m33", "cortex-m4"), ("cortex-m85", "cortex-m55")]
)
def test_cores_with_the_same_code_have_the_same_estimates(core: str, other: str) -> None:
    content = Network().content("depthwise")
    one, two = (footprint(content, each).estimated_instructions for each in (core, other))
    assert one == two is not None


@pytest.mark.parametrize("target", ["cortex-m4+hardfloat", "cortex-m55+hardfloat"])
def test_hard_floats_change_no_estimate(target: str) -> None:
    content = Network().content("conv")
    one, two = (
        footprint(content, each).estimated_instructions
        for each in (target, target.removesuffix("+hardfloat"))
    )
    assert one == two is not None


_LESS = "llvm -mtriple=thumbv8.1m.main-none-eabi -mcpu=cortex-m55 -mattr=-mve"


@pytest.mark.parametrize("target", ["x86-avx2", "wasm32", _LESS])
def test_other_processors_have_no_estimate(target: str) -> None:
    told = footprint(Network().content("conv"), target)
    assert {layer.estimated_instructions for layer in told.layers} == {None}


def test_channels_that_are_left_out_take_no_instructions() -> None:
    told = footprint(Network().content("conv"), "cortex-m4")
    layers = [layer for layer in told.layers if layer.macs]
    per_product = [(layer.estimated_instructions or 0) / layer.macs for layer in layers]
    assert all(1 < each < 4 for each in per_product)
