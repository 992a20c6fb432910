"""Runs programs under the emulator with the plugin that counts instructions."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.io.command import call

# The classes in the order of count.c.
CLASSES = (
    "dot product",
    "matrix",
    "widening multiply",
    "vector load",
    "vector store",
    "other vector",
    "scalar memory",
    "branch",
    "other",
)

_HERE = Path(__file__).parent
PACKAGES = "apt install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross"


@dataclass(frozen=True)
class Counts:
    """Instructions of one run.

    Attributes:
        classes: counts by name in ``CLASSES``.
        blocks: the number of executed instructions of each block of the program, by address; only
            for a run with a profile.
    """

    classes: dict[str, int]
    blocks: dict[int, int]

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(self.classes.values())


def tool(name: str) -> str:
    """Return the path of a program.

    Raises:
        QnnError: the program is not installed; the error says what to install.
    """
    if path := shutil.which(name):
        return path
    raise QnnError(f"counting instructions needs {name}, which is not on the path: {PACKAGES}")


def build_plugin(folder: Path) -> Path:
    """Compile the plugin for this machine, as a file in the folder."""
    plugin = folder / "count.so"
    call([tool("cc"), "-O2", "-shared", "-fPIC", "-o", plugin, _HERE / "count.c"])
    return plugin


def count(
    plugin: Path, emulator: Sequence[str | Path], program: Sequence[str | Path], *, profile: bool
) -> Counts:
    """Run a program under an emulator, and count the instructions between its last two marks.

    Args:
        plugin: from ``build_plugin``.
        emulator: the command up to the program.
        program: the program, which makes the marks, and its arguments.
        profile: whether to count the instructions of each block, too.
    """
    out = plugin.with_name("counts.txt")
    option = f"{plugin},out={out}" + (",profile=on" if profile else "")
    call([*emulator[:1], "-plugin", option, *emulator[1:], *program])
    lines = [line.split() for line in out.read_text().splitlines()]
    *_, (_, mark, *counts) = (line for line in lines if line[0] == "mark")
    blocks: Counter[int] = Counter()
    for kind, of, *rest in lines:
        if kind == "block" and of == mark:
            address, instructions, executed = rest
            blocks[int(address, 16)] += int(instructions) * int(executed)
    return Counts(dict(zip(CLASSES, map(int, counts), strict=True)), dict(blocks))


def by_function(nm: str, program: Path, counts: Counts) -> dict[str, int]:
    """Sum a profile's instructions by function of a statically linked program, most first."""
    lines = [line.split() for line in call([tool(nm), "-n", program]).splitlines()]
    symbols = [(int(line[0], 16), line[2]) for line in lines if len(line) == 3 and line[1] in "tTW"]
    result: Counter[str] = Counter()
    index = 0
    for address, instructions in sorted(counts.blocks.items()):
        while index + 1 < len(symbols) and symbols[index + 1][0] <= address:
            index += 1
        result[symbols[index][1]] += instructions
    return dict(result.most_common())
