"""llvm-mca's estimate of the time of a block of instructions."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.io.command import call

_LABEL = re.compile(r"\.L[\w.$]+")
_ITERATIONS = 100
# Versions of LLVM.
_OLDEST, _NEWEST = 18, 25
_VERSION = re.compile(r"LLVM version (\d+)")


@dataclass(frozen=True)
class Analysis:
    """llvm-mca's estimate of a block of instructions that is executed again and again.

    Attributes:
        instructions: in the block.
        cycles: of one round, with many rounds under way.
        busiest: cycles in which its busiest unit, or dispatch, is busy with it.
    """

    instructions: int
    cycles: float
    busiest: float


def find_mca() -> str:
    """Return the program, in the newest version that is installed.

    Raises:
        QnnError: if it is not installed.
    """
    for version in range(_NEWEST, _OLDEST - 1, -1):
        if path := shutil.which(f"llvm-mca-{version}"):
            return path
    # The one without a number is of any version.
    path = shutil.which("llvm-mca")
    found = path and _VERSION.search(call([path, "--version"]))
    if path and found and int(found[1]) >= _OLDEST:
        return path
    raise QnnError(f"this needs llvm-mca of LLVM {_OLDEST} or later: apt install llvm-19")


def analyze(mca: str, triple: str, processor: str, block: Sequence[str], folder: Path) -> Analysis:
    """Run llvm-mca.

    Args:
        mca: the program.
        triple: the instruction set, as LLVM calls it.
        processor: as LLVM names it.
        block: instructions; jumps are taken for not taken.
        folder: for the file.
    """
    file = folder / "block.s"
    # The labels of jumps are elsewhere.
    file.write_text("\n".join(_LABEL.sub("0", line) for line in block) + "\n")
    words = [f"-mtriple={triple}", f"-mcpu={processor}", f"-iterations={_ITERATIONS}", "-json"]
    (region,) = json.loads(call([mca, *words, file]))["CodeRegions"]
    summary = region["SummaryView"]
    # Behind the pressure of each instruction there is that of all.
    pressure = region["ResourcePressureView"]["ResourcePressureInfo"]
    units = [one["ResourceUsage"] for one in pressure if one["InstructionIndex"] == len(block)]
    dispatch = summary["uOpsPerCycle"] * summary["TotalCycles"] / summary["DispatchWidth"]
    return Analysis(
        instructions=summary["Instructions"] // _ITERATIONS,
        cycles=summary["TotalCycles"] / _ITERATIONS,
        busiest=max(*units, dispatch / _ITERATIONS),
    )
