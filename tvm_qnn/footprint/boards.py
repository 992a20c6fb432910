"""Runs exported models on emulated boards: their outputs, instructions and memory."""

import re
import shutil
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.command import call
from tvm_qnn.standalone.symbols import loaded_sections

HERE = Path(__file__).parent / "board"
"""The folder with the sources of programs for boards."""


@dataclass(frozen=True)
class Family:
    """A family of processors that share an emulator and a compiler.

    Attributes:
        emulator: the name of QEMU's program.
        prefix: the prefix of the names of the compiler's tools.
        options: the compiler's options.
        start: the source files of a program's start.
        packages: apt's packages with these tools.
        machine: options of the emulator, beside the name of a board.
    """

    emulator: str
    prefix: str
    options: tuple[str, ...]
    start: tuple[str, ...]
    packages: str
    machine: tuple[str, ...] = ()


ARM = Family(
    "qemu-system-arm",
    "arm-none-eabi-",
    ("-mthumb", "--specs=nano.specs", "-lm"),
    ("arm.c",),
    "qemu-system-arm gcc-arm-none-eabi libnewlib-arm-none-eabi",
)

# A C library takes a gigabyte, and a program needs only six of its functions: library.c has them.
# Without the last option the compiler would turn their loops into calls of the same functions.
_NO_LIBRARY = (
    *("-ffreestanding", "-nostdlib", f"-I{HERE / 'include'}", "-lgcc"),
    "-fno-tree-loop-distribute-patterns",
)

RISCV = Family(
    "qemu-system-riscv32",
    "riscv64-unknown-elf-",
    ("-march=rv32imc", "-mabi=ilp32", *_NO_LIBRARY),
    ("riscv.c", "library.c"),
    "qemu-system-misc gcc-riscv64-unknown-elf",
    ("-bios", "none"),
)

# A load instruction of a literal reaches only memory in front of it.
XTENSA = Family(
    "qemu-system-xtensa",
    "xtensa-lx106-elf-",
    ("-mtext-section-literals", *_NO_LIBRARY),
    ("xtensa.c", "library.c"),
    "qemu-system-misc gcc-xtensa-lx106",
    ("-cpu", "lx106", "-m", "32M"),
)

_FLAGS = (
    *("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-nostartfiles"),
    *("-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments"),
)
_KINDS_OF_CODE = "tTwW"  # the kinds of symbols of code, in the output of nm


@dataclass(frozen=True)
class Board:
    """A board that the emulator knows.

    Attributes:
        machine: the emulator's name of it.
        vectors: the address of the vectors from which the processor starts.
        code: the address of code and constants.
        memory: the address of everything else.
        core: the compiler's name of the processor; empty if the family's options name it.
        family: the processor's family.
        room: megabytes for code and constants, and as many for everything else.
    """

    machine: str
    vectors: int
    code: int
    memory: int
    core: str = ""
    family: Family = ARM
    room: int = 2


BOARDS = {
    # No board with a Cortex-M0+ has enough memory; a Cortex-M3 has all its instructions.
    "cortex-m0plus": Board("mps2-an385", 0, 0x400, 0x20000000, "cortex-m0plus"),
    "cortex-m3": Board("mps2-an385", 0, 0x400, 0x20000000, "cortex-m3"),
    "cortex-m4": Board("mps2-an386", 0, 0x400, 0x20000000, "cortex-m4"),
    "cortex-m7": Board("mps2-an500", 0, 0x400, 0x20000000, "cortex-m7"),
    "cortex-m33": Board("mps2-an505", 0x10000000, 0x10000400, 0x38000000, "cortex-m33"),
    "cortex-m55": Board("mps3-an547", 0, 0x01000000, 0x21000000, "cortex-m55"),
    "riscv32": Board("virt", 0x80000000, 0x80000400, 0x84000000, family=RISCV, room=48),
}
"""The boards by the target whose code they run."""

PLAIN_C_BOARDS = {
    **BOARDS,
    # ESP8266's core on a machine with enough memory: Debian has no emulator of an ESP32.
    "xtensa": Board("sim", 0x50000000, 0x50000400, 0x60000000, family=XTENSA, room=30),
}
"""The boards that run plain C."""

LARGE = Board("mps3-an547", 0, 0x70000400, 0x72000000, room=31)
"""A board for large networks; its Cortex-M55 runs the code of other Cortex-Ms."""

_IMPOSSIBLE = {
    r"region `\w+' overflowed": "no room",
    r"undefined reference to `__\w*[sd]f": "no floats",
}


@dataclass(frozen=True)
class Result:
    """The result of a program.

    Attributes:
        outputs: the bytes of each run's output.
        instructions: the number of instructions of each run.
        functions: the instructions of the last run by function, the most first.
        calls: the instructions of each call of the last run, with the few that report the call;
            empty if the program does not report calls.
        stack: the most bytes of stack that a run took.
        code: bytes of code of the whole program.
        constants: bytes of its constants.
    """

    outputs: list[bytes]
    instructions: list[int]
    functions: dict[str, int]
    calls: list[int]
    stack: int
    code: int
    constants: int


def missing(family: Family = ARM) -> str | None:
    """Say what this computer lacks to run programs for a family's boards; None if nothing."""
    tools = (family.emulator, f"{family.prefix}gcc", "cc")
    absent = [name for name in tools if not shutil.which(name)]
    packages = f"apt install {family.packages}"
    return f"no {' and no '.join(absent)} on the path: {packages}" if absent else None


def impossible(error: QnnError) -> str | None:
    """Say why no board has room for a program, if that is the linker's error."""
    return next((why for words, why in _IMPOSSIBLE.items() if re.search(words, str(error))), None)


def run(
    board: Board,
    export: Path,
    inputs: Sequence[np.ndarray],
    *,
    hard: bool = False,
    tells_calls: bool = False,
    level: str = "-Os",
) -> Result:
    """Make a program of an export, and run it on a board.

    Args:
        board: the board.
        export: the folder with ``model.c``, ``model.h`` and ``model.o``, or for plain C
            ``model_weights.c``; the program is written there.
        inputs: the model's input of each run.
        hard: whether floats are passed in registers of their own.
        tells_calls: whether the program reports each call of a run, which takes some more
            instructions.
        level: the compiler's level of optimization.

    Raises:
        QnnError: if a tool is missing or a program fails.
    """
    if reason := missing(board.family):
        raise QnnError(reason)
    program = _link(board, export, level, hard=hard, tells_calls=tells_calls)
    (export / "inputs").write_bytes(b"".join(each.tobytes() for each in inputs))
    spans = _emulate(board, program, export)
    # A mark ends a span. Each run begins and ends with a mark, and so do its calls if reported.
    turn = (len(spans) - 1) // len(inputs)
    runs = [spans[start : start + turn - 1] for start in range(1, len(spans) - 1, turn)]
    counts = [sum(map(Counter, run), Counter[int]()) for run in runs]
    output = (export / "outputs").read_bytes()
    size = len(output) // len(inputs)
    sections = loaded_sections(program.read_bytes()) or {}
    return Result(
        [output[start : start + size] for start in range(0, len(output), size)],
        [sum(blocks.values()) for blocks in counts],
        _by_function(board, program, counts[-1]),
        [sum(span.values()) for span in runs[-1][1:-1]],
        int.from_bytes((export / "stack").read_bytes(), "little"),
        sections[".text"],
        sections.get(".rodata", 0),
    )


def _link(board: Board, export: Path, level: str, *, hard: bool, tells_calls: bool) -> Path:
    family, program, script = board.family, export / "program.elf", export / "program.ld"
    script.write_text(Template((HERE / "board.ld").read_text()).substitute(vars(board)))
    own = [HERE / name for name in ("run_model.c", "board.c", *family.start)]
    code = next(name for name in ("model.o", "model_weights.c") if (export / name).exists())
    sources = [*own, export / "model.c", export / code]
    core = [f"-I{HERE}", f"-I{export}"]
    core += [f"-mcpu={board.core}"] if board.core else []
    core += [f"-mfloat-abi={'hard' if hard else 'soft'}"] if family is ARM else []
    core += ["-DMODEL_HOOK=on_call"] if tells_calls else []
    # The linker needs libraries after the files that call them.
    words: list[str | Path] = [level, *_FLAGS, *core, *sources, *family.options, "-T", script]
    call([f"{family.prefix}gcc", *words, "-o", program])
    return program


def _emulate(board: Board, program: Path, folder: Path) -> list[dict[int, int]]:
    """Return the instructions between two marks, by the address of each block of code."""
    plugin, out = folder / "count.so", folder / "counts"
    call(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, HERE / "count.c"])
    (mark,) = (start for start, name in _symbols(board, program) if name == "board_mark")
    devices: list[str | Path] = ["-display", "none", "-monitor", "none", "-serial", "none"]
    # Names of files are relative to the folder where the emulator starts.
    host = ["env", f"--chdir={folder}", board.family.emulator, "-M", board.machine, *devices]
    host += board.family.machine
    files = ["-semihosting-config", "enable=on,target=native"]
    call([*host, *files, "-plugin", f"{plugin},out={out},mark={mark:#x}", "-kernel", program])
    spans: list[dict[int, int]] = [{}]
    for line in out.read_text().splitlines():
        kind, *words = line.split()
        if kind == "block":
            address, count = int(words[0], 16), int(words[1])
            spans[-1][address] = spans[-1].get(address, 0) + count
        else:
            spans.append({})
    return spans


def _symbols(board: Board, program: Path) -> list[tuple[int, str]]:
    lines = call([f"{board.family.prefix}nm", "-n", program]).splitlines()
    found = [line.split() for line in lines]
    return [(int(at, 16) & ~1, name) for at, kind, name in found if kind in _KINDS_OF_CODE]


def _by_function(board: Board, program: Path, blocks: dict[int, int]) -> dict[str, int]:
    symbols = _symbols(board, program)
    starts = [start for start, _ in symbols]
    result: Counter[str] = Counter()
    for address, count in blocks.items():
        result[symbols[bisect_right(starts, address) - 1][1]] += count
    return dict(result.most_common())
