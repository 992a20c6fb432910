"""Measures plain C on a core: its sizes by the core's own compiler, its emulated instructions."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tvm

from qnn_ops.errors import QnnError
from tvm_qnn.footprint.boards import HERE, PLAIN_C_BOARDS, impossible, missing, run
from tvm_qnn.io.command import call
from tvm_qnn.standalone.symbols import loaded_sections
from tvm_qnn.target.microcontrollers import is_plain_c


@dataclass(frozen=True)
class Core:
    """A core, and the compiler for it.

    Attributes:
        compiler: the compiler's name on the path.
        options: the options that name the core.
        package: the package of Debian with the compiler.
        board: the emulated board in ``PLAIN_C_BOARDS`` that runs its code; empty if there is none.
        copies_constants: whether a program copies its constants to RAM when it starts.
    """

    compiler: str
    options: tuple[str, ...]
    package: str
    board: str = ""
    copies_constants: bool = False


_ARM = "arm-none-eabi-gcc", "gcc-arm-none-eabi"


def _cortex(name: str) -> Core:
    return Core(_ARM[0], (f"-mcpu={name}", "-mthumb"), _ARM[1], name)


CORES: dict[str, Core] = {
    "cortex-m0plus": _cortex("cortex-m0plus"),
    "cortex-m4": _cortex("cortex-m4"),
    "xtensa": Core(
        "xtensa-lx106-elf-gcc", ("-mtext-section-literals",), "gcc-xtensa-lx106", "xtensa"
    ),
    "rv32imc": Core(
        "riscv64-unknown-elf-gcc",
        ("-march=rv32imc", "-mabi=ilp32", "-ffreestanding"),
        "gcc-riscv64-unknown-elf",
        "riscv32",
    ),
    # It loads from flash and from RAM with different instructions.
    "avr": Core("avr-gcc", ("-mmcu=atmega2560",), "gcc-avr", copies_constants=True),
}
"""The cores by name."""

# Debian's compilers for RISC-V and Xtensa have no C library, but declarations are enough for sizes.
# The compiler's own stdint.h counts, and memcpy stays a function that it knows.
_FLAGS = (
    *("-std=c99", "-Os", "-fno-asynchronous-unwind-tables"),
    *("-ffreestanding", "-fbuiltin", f"-I{HERE / 'include'}", "-c"),
)


def check_core(core: str, target: tvm.target.Target) -> None:
    """Check that C can be compiled for a core.

    Args:
        core: a name in ``CORES``.
        target: the model's target.

    Raises:
        QnnError: the core is unknown, its compiler is missing, or the target is not plain C.
    """
    if not is_plain_c(target):
        raise QnnError(f"--core {core} is for plain C: give it with --target c")
    if core not in CORES:
        raise QnnError(f"--core {core}: the cores of plain C are {', '.join(CORES)}")
    row = CORES[core]
    if not shutil.which(row.compiler):
        raise QnnError(f"--core {core} needs {row.compiler} on the path: apt install {row.package}")


def compiled_sizes(core: str, write: Callable[[Path], object]) -> tuple[int, int]:
    """Compile a model's C and return the bytes of its code and of its constants.

    Args:
        core: a name in ``CORES``.
        write: a function that writes ``model.c``, ``model.h`` and ``model_weights.c`` to a folder.

    Raises:
        QnnError: the core's compiler fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        files = (folder / "model.c", folder / "model_weights.c")
        found = [_sizes(CORES[core], file) for file in files]
    return sum(code for code, _ in found), sum(constants for _, constants in found)


def counted_instructions(core: str, write: Callable[[Path], object], size: int) -> int | None:
    """Run a model of one input and one output on a core's emulated board.

    Args:
        core: a name in ``CORES``.
        write: as for ``compiled_sizes``.
        size: the bytes of the input, which are all zero.

    Returns:
        The instructions of a run; None without an emulator, or if the board has too little memory.
    """
    board = PLAIN_C_BOARDS.get(CORES[core].board)
    if board is None or missing(board.family):
        return None
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        try:
            return run(board, Path(folder), [np.zeros(size, np.uint8)]).instructions[0]
        except QnnError as error:
            if impossible(error):
                return None
            raise


def _sizes(core: Core, source: Path) -> tuple[int, int]:
    made = source.with_suffix(".o")
    call([core.compiler, *core.options, *_FLAGS, f"-I{source.parent}", "-o", made, source])
    sections = loaded_sections(made.read_bytes()) or {}
    code = sum(size for name, size in sections.items() if name.startswith(".text"))
    return code, sum(sections.values()) - code
