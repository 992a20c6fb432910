"""llvm-mca's estimate of the time of a block of instructions."""

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
# The oldest and the newest version of LLVM to look for.
_OLDEST, _NEWEST = 18, 25
_VERSION = re.compile(r"LLVM version (\d+)")


@dataclass(frozen=True)
class Analysis:
    """llvm-mca's estimate of a block of instructions that is executed again and again.

    Attributes:
        instructions: number of instructions in the block.
        cycles: cycles of one round, while many rounds overlap.
        busiest: cycles of one round for which the busiest unit, or dispatch, is busy.
    """

    instructions: int
    cycles: float
    busiest: float


def find_mca() -> str:
    """Return the path of the newest installed llvm-mca.

    Raises:
        QnnError: it is not installed.
    """
    for version in range(_NEWEST, _OLDEST - 1, -1):
        if path := shutil.which(f"llvm-mca-{version}"):
            return path
    # The program without a number may be of any version.
    path = shutil.which("llvm-mca")
    found = path and _VERSION.search(call([path, "--version"]))
    if path and found and int(found[1]) >= _OLDEST:
        return path
    raise QnnError(f"this needs llvm-mca of LLVM {_OLDEST} or later: apt install llvm-19")


def analyze(mca: str, triple: str, processor: str, block: Sequence[str], folder: Path) -> Analysis:
    """Run llvm-mca.

    Args:
        mca: the program.
        triple: LLVM's name of the instruction set.
        processor: LLVM's name of the processor.
        block: the instructions; llvm-mca assumes that no jump is taken.
        folder: the folder for the file of instructions.
    """
    file = folder / "block.s"
    # The block does not contain the labels of its jumps.
    file.write_text("\n".join(_LABEL.sub("0", line) for line in block) + "\n")
    words = [f"-mtriple={triple}", f"-mcpu={processor}", f"-iterations={_ITERATIONS}", "-json"]
    (region,) = json.loads(call([mca, *words, file]))["CodeRegions"]
    summary = region["SummaryView"]
    # The pressure of all instructions follows that of each one.
    pressure = region["ResourcePressureView"]["ResourcePressureInfo"]
    units = [one["ResourceUsage"] for one in pressure if one["InstructionIndex"] == len(block)]
    dispatch = summary["uOpsPerCycle"] * summary["TotalCycles"] / summary["DispatchWidth"]
    return Analysis(
        instructions=summary["Instructions"] // _ITERATIONS,
        cycles=summary["TotalCycles"] / _ITERATIONS,
        busiest=max(*units, dispatch / _ITERATIONS),
    )
