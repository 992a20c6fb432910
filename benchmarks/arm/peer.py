"""LiteRT's build for aarch64 under the emulator, as a peer."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arm.counting import Counts, count, tool

Array = np.ndarray[Any, Any]

RESOLVERS = {"LiteRT XNNPACK": "AUTO", "LiteRT built-in": "BUILTIN_WITHOUT_DEFAULT_DELEGATES"}
"""LiteRT's names of its sets of kernels, by their names in tables."""

_ARMV8 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"
_ARMV82 = f"{_ARMV8} atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp"
_CPUINFO = {
    "cortex-a72": ("0xd08", _ARMV8),
    "cortex-a76": ("0xd0b", _ARMV82),
    "max": ("0xd0c", f"{_ARMV82} i8mm"),
}
"""The part number and the features that Linux reports for each processor."""


def is_installed(folder: Path) -> bool:
    """Tell whether .ci/install-arm-python has put Python and LiteRT into a folder."""
    return (folder / "site" / "ai_edge_litert").is_dir()


def count_litert(
    installed: Path,
    core: str,
    resolver: str,
    plugin: Path,
    model: Path,
    inputs: Sequence[Path],
    runs: int,
) -> tuple[Counts, list[Array]]:
    """Count the instructions of LiteRT's last run.

    Args:
        installed: the folder of .ci/install-arm-python.
        core: QEMU's name of the processor.
        resolver: a value of ``RESOLVERS``.
        plugin: from ``build_plugin``.
        model: a .tflite file.
        inputs: a file of raw elements for each input.
        runs: number of runs.

    Returns:
        The counts, and the outputs.
    """
    root = _root(installed / "root", core.split(",")[0], plugin.parent)
    settings = {
        "PYTHONHOME": str(installed / "root" / "usr"),
        "PYTHONPATH": str(installed / "site"),
        "PYTHONNOUSERSITE": "1",
    }
    words = [word for name, value in settings.items() for word in ("-E", f"{name}={value}")]
    emulator: list[str | Path] = [tool("qemu-aarch64"), "-cpu", core, "-L", root, *words]
    python = installed / "root" / "usr" / "bin" / "python3.11"
    script = Path(__file__).with_name("litert.py")
    saved = plugin.with_name("litert.npz")
    program: list[str | Path] = [python, script, model, resolver, str(runs), saved, *inputs]
    counts = count(plugin, emulator, program, profile=False)
    with np.load(saved) as arrays:
        return counts, list(arrays.values())


def _root(system: Path, core: str, folder: Path) -> Path:
    """Make a root folder with the processor's /proc/cpuinfo, by which libraries choose their code.

    The machine's own file describes an x86 processor, and makes LiteRT crash.
    """
    root = folder / f"root-{core}"
    if not root.exists():
        (root / "proc").mkdir(parents=True)
        for entry in system.iterdir():
            if entry.name != "proc":
                (root / entry.name).symlink_to(entry)
        part, features = _CPUINFO[core]
        (root / "proc" / "cpuinfo").write_text(
            "".join(
                f"processor\t: {number}\nBogoMIPS\t: 50.00\nFeatures\t: {features}\n"
                "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
                f"CPU part\t: {part}\nCPU revision\t: 3\n\n"
                for number in range(os.cpu_count() or 1)
            )
        )
    return root
