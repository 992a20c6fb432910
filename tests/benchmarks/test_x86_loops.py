from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.loops.assembly import Loop
from benchmarks.loops.layer import LAYER_3X3
from benchmarks.loops.table import rows
from benchmarks.x86_loops import PROCESSORS, SUITE, WITH_WINOGRAD, planned, products, sums
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan
from tests.support.errors import giving
from tests.support.mca import mca


def loop(*own: str) -> Loop:
    return Loop(".LBB0_1", tuple(f"\t{line}" for line in own))


test_products_count_by_the_width_of_registers = giving(
    lambda own: products(loop(*own)),
    (["vpdpbusd\t(%rax){1to16}, %zmm1, %zmm2", "vpaddd\t%zmm1, %zmm2, %zmm3"], 64),
    (["{vex}\tvpdpbusd\t%ymm0, %ymm1, %ymm2", "vpmovzxbw\t%xmm1, %ymm2"], 32),
    (["vpdpwssd\t%zmm0, %zmm1, %zmm2"], 32),
    (["vpmaddwd\t(%rax), %ymm1, %ymm2", "vpaddd\t%ymm1, %ymm2, %ymm3"], 16),
    (["vpmaddubsw\t%ymm0, %ymm1, %ymm2", "vpmaddwd\t%ymm0, %ymm1, %ymm2"], 32),
    (["pmaddubsw\t(%rax), %xmm1", "pmaddwd\t%xmm0, %xmm1"], 16),
    (["pmaddwd\t%xmm0, %xmm1", "pmaddwd\t%xmm0, %xmm2"], 16),
    (["vpmuldq\t%ymm0, %ymm1, %ymm2", "jne\t.LBB0_1"], 0),
)


def test_sums_are_products_and_as_many_additions() -> None:
    own = [
        "vpmaddubsw\t(%rax), %ymm1, %ymm2",
        "vpmaddubsw\t(%rbx), %ymm1, %ymm3",
        "vpaddw\t%ymm2, %ymm3, %ymm2",
        "vpmaddwd\t%ymm0, %ymm2, %ymm2",
        "vpaddd\t%ymm4, %ymm2, %ymm4",
        "vpaddd\t%ymm4, %ymm5, %ymm5",
        "vpshufb\t%ymm4, %ymm5, %ymm5",
        "jne\t.LBB0_1",
    ]
    assert sums(loop(*own)) == [f"\t{line}" for line in own[:5]]


def test_what_is_called_winograd_is_it() -> None:
    plans = {processor: planned(LAYER_3X3, processor.isa)[0] for processor in PROCESSORS}
    transformed = {processor for processor in plans if isinstance(plans[processor], WinogradPlan)}
    assert transformed == {*WITH_WINOGRAD}


@pytest.mark.avx512
def test_the_sums_of_convolutions_keep_their_units_busy(tmp_path: Path) -> None:
    # One processor of each kind: the whole table takes three times as long.
    names = ("Ice Lake", "Alder Lake", "Haswell", "Sandy Bridge")
    kernels = [
        replace(kernel, processors=[one for one in kernel.processors if one.name in names])
        for kernel in SUITE.kernels
        if "sums" in kernel.name
    ]
    found = list(rows(replace(SUITE, kernels=kernels), mca(), tmp_path))
    assert len(found) == 9
    for name, processor, *_, speed, busiest, peak in found:
        assert int(busiest.strip(" %")) >= 95, (name, processor)
        is_of_words = processor == "Ice Lake" and "Winograd" in name
        assert int(peak.strip(" %")) >= (85 if is_of_words else 90), (name, processor)
        if processor == "Ice Lake":
            assert float(speed) > (0.85 * 64 if is_of_words else 0.98 * 128)
