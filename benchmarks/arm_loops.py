"""Asks llvm-mca how long ARM processors take for the loops of the kernels.

python -m benchmarks.arm_loops --markdown table.md

llvm-mca (Debian, Ubuntu: apt install llvm-19) simulates how a processor issues the instructions of
a loop to its units, by LLVM's model of it, with all data in the nearest cache. That is no
measurement, but shows whether the products keep their units busy.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import tvm
from rich.console import Console

from benchmarks.arm.loops import Loop, analyze, loops
from benchmarks.race_report import as_table, markdown_table
from legalize.kernels.arm.conv2d import conv2d
from legalize.kernels.arm.depthwise import depthwise_conv2d
from legalize.kernels.arm.depthwise_pack import pack_depthwise
from legalize.kernels.arm.isa import DOTPROD, I8MM, NEON, Isa
from legalize.kernels.arm.pack import pack_conv2d
from legalize.kernels.spec import ConvSpec
from qnn_ops.errors import QnnError
from tvm_qnn.target import parse_target

HEAD = [
    "loop",
    "processor",
    "instructions",
    "cycles",
    "IPC",
    "products/cycle",
    "busiest unit",
    "peak",
]
EXPLANATION = (
    "Instructions and cycles of one round; products of bytes a cycle; for how much of the time the "
    "unit that has most to do is busy; and how much of the time the instructions of the sums would "
    "take by themselves (peak)."
)

SPEC = ConvSpec(
    batch=1,
    in_height=28,
    in_width=28,
    in_channels=192,
    kernel_height=1,
    kernel_width=1,
    strides=(1, 1),
    padding=(0, 0, 0, 0),
    dilation=(1, 1),
    out_channels=192,
    in_dtype="int8",
    out_dtype="int8",
    input_zero_point=-3,
    output_zero_point=5,
    out_min=-128,
    out_max=127,
    rounding="tflite",
    kernel_dtype="int8",
    has_asymmetric_kernel=False,
    staged_dtype="int8",
)
"""A layer of 1 × 1, whose depthwise neighbour has 3 × 3."""


@dataclass(frozen=True)
class Processor:
    """A processor, as LLVM's model of it, and the code it runs."""

    name: str
    mcpu: str
    isa: Isa
    target: str


PROCESSORS = (
    Processor("Cortex-A72", "cortex-a72", NEON, "aarch64"),
    # LLVM has no model of a Cortex-A76, but of the server's processor of the same design.
    Processor("Neoverse N1", "neoverse-n1", DOTPROD, "aarch64-dotprod"),
    Processor("Neoverse N2", "neoverse-n2", I8MM, "aarch64-i8mm"),
    Processor("Neoverse V1", "neoverse-v1", I8MM, "aarch64-i8mm"),
)

_BYTES = re.compile(r"\s+(smull|smlal)2?\s+v\d+\.8h")
_SUMS = re.compile(r"\s+(sdot|smmla|(smull|smlal)2?\s+v\d+\.8h|sadalp|saddw2?)\b")
_PRODUCTS = {"sdot": 16, "smmla": 32}


def products(loop: Loop) -> int:
    """How many products of bytes a round of a loop computes."""
    return sum(8 if _BYTES.match(line) else _PRODUCTS.get(line.split()[0], 0) for line in loop.own)


def convolution(isa: Isa) -> Any:
    """The function of a 1 × 1 convolution."""
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 128, (SPEC.out_channels, 1, 1, SPEC.in_channels)).astype(np.int8)
    scales = rng.uniform(0.001, 0.01, SPEC.out_channels)
    packed = pack_conv2d(SPEC, isa, weights, 0, None, scales)
    return conv2d(
        SPEC, packed.isa, packed.requantization, packed.tiling, packed.row_dtypes, has_sums=False
    )


def depthwise(isa: Isa) -> Any:
    """The function of a 3 × 3 depthwise convolution."""
    rng = np.random.default_rng(0)
    spec = replace(SPEC, kernel_height=3, kernel_width=3, padding=(1, 1, 1, 1))
    weights = rng.integers(-127, 128, (3, 3, SPEC.in_channels)).astype(np.int8)
    scales = rng.uniform(0.001, 0.01, SPEC.out_channels)
    packed = pack_depthwise(spec, NEON, weights, 0, None, scales)
    return depthwise_conv2d(packed.plan, packed.requantization, packed.row_dtypes)


def _most_products(found: list[Loop]) -> Loop:
    return max((loop for loop in found if loop.is_inner), key=products)


def _most_rescaling(found: list[Loop]) -> Loop:
    return max((loop for loop in found if not loop.is_inner), key=lambda one: one.count("sqrdmulh"))


LOOPS: dict[str, tuple[Callable[[Isa], Any], Callable[[list[Loop]], Loop]]] = {
    "convolution: sums": (convolution, _most_products),
    "convolution: requantize, store": (convolution, _most_rescaling),
    "depthwise: all": (depthwise, _most_products),
}
"""How to build a function, and which of its loops is meant."""


def rows(mca: str, folder: Path) -> Iterator[list[str]]:
    """The lines of the table.

    Args:
        mca: The program.
        folder: For files.
    """
    for name, (function, choose) in LOOPS.items():
        for processor in PROCESSORS:
            library = tvm.compile(function(processor.isa), target=parse_target(processor.target))
            loop = choose(loops(library.mod.inspect_source("asm")))
            found = analyze(mca, processor.mcpu, loop.own, folder)
            row = [name, processor.name, str(found.instructions), f"{found.cycles:.1f}"]
            row.append(f"{found.instructions / found.cycles:.2f}")
            sums = [line for line in loop.own if _SUMS.match(line)]
            share = f"{100 * found.busiest / found.cycles:.0f} %"
            if sums:
                alone = analyze(mca, processor.mcpu, sums, folder).busiest
                speed, peak = products(loop) / found.cycles, 100 * alone / found.cycles
                yield [*row, f"{speed:.1f}", share, f"{peak:.0f} %"]
            else:
                yield [*row, "–", share, "–"]


def find_mca() -> str:
    """The program, in the newest version that is installed.

    Raises:
        QnnError: if it is not installed.
    """
    for name in (*(f"llvm-mca-{version}" for version in range(25, 17, -1)), "llvm-mca"):
        if path := shutil.which(name):
            return path
    raise QnnError("this needs llvm-mca of LLVM 18 or later: apt install llvm-19")


@click.command(help=__doc__)
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the table to this file.")
def main(markdown: Path | None) -> None:
    """Run from the command line."""
    console = Console(highlight=False)
    try:
        with tempfile.TemporaryDirectory(prefix="tvm-qnn-arm-") as folder:
            body = list(rows(find_mca(), Path(folder)))
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    console.print(as_table(HEAD, body, "loops"))
    console.print(EXPLANATION)
    if markdown:
        markdown.write_text(f"{EXPLANATION}\n\n{markdown_table(HEAD, body)}", encoding="utf-8")


if __name__ == "__main__":
    main()
