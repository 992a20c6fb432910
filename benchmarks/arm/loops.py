"""The loops of a compiled function, and what llvm-mca says a processor takes for them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arm.counting import call

_LABEL = re.compile(r"(\.L\w+):")
_JUMP = re.compile(r"\s+(?:b|b\.\w+|cbn?z|tbn?z)\s+(?:.*\s)?(\.L\w+)$")
_INSTRUCTION = re.compile(r"\s+[a-z]")
_ITERATIONS = 100


@dataclass(frozen=True)
class Loop:
    """One loop of assembly, from its label to the jump back to it.

    Attributes:
        label: Where it begins.
        own: Its instructions outside of loops within it.
        is_inner: Whether there are none.
    """

    label: str
    own: tuple[str, ...]
    is_inner: bool

    def count(self, name: str) -> int:
        """How many of its own instructions have this name."""
        return sum(line.split()[0] == name for line in self.own)


def loops(assembly: str) -> list[Loop]:
    """The loops of AArch64 assembly, inner ones before what is around them."""
    lines = [line.split("//")[0].rstrip() for line in assembly.splitlines()]
    labels = {match[1]: i for i, line in enumerate(lines) if (match := _LABEL.match(line))}
    jumps = [(i, match[1]) for i, line in enumerate(lines) if (match := _JUMP.match(line))]
    # Of several jumps back to a label the last one ends the loop.
    ends = {to: i for i, to in jumps if labels.get(to, i) < i}
    found = []
    for label, end in sorted(ends.items(), key=lambda item: item[1] - labels[item[0]]):
        begin = labels[label]
        within = [
            (labels[other], last)
            for other, last in ends.items()
            if begin < labels[other] and last < end
        ]
        own = [
            line
            for i, line in enumerate(lines[begin : end + 1], begin)
            if _INSTRUCTION.match(line) and not any(first <= i <= last for first, last in within)
        ]
        found.append(Loop(label, tuple(own), not within))
    return found


@dataclass(frozen=True)
class Analysis:
    """What llvm-mca expects of a block of instructions that is executed again and again.

    Attributes:
        instructions: In the block.
        cycles: That one round takes, with many rounds under way.
        busiest: For which its busiest unit, or dispatch, is busy with it.
    """

    instructions: int
    cycles: float
    busiest: float


def analyze(mca: str, processor: str, block: Sequence[str], folder: Path) -> Analysis:
    """Run llvm-mca.

    Args:
        mca: The program.
        processor: As LLVM names it.
        block: Instructions of AArch64; jumps are taken for not taken.
        folder: For the file.
    """
    file = folder / "block.s"
    # The labels of jumps are elsewhere.
    text = [re.sub(r"\.L\w+", "0", line) for line in block]
    file.write_text("\n".join(text) + "\n")
    words = ["-mtriple=aarch64", f"-mcpu={processor}", f"-iterations={_ITERATIONS}", "-json"]
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
