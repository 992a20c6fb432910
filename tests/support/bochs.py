"""Running compiled functions on emulated x86 processors, for instructions that this one lacks.

The emulator is Bochs, with no system in it: its ROM is ``emulated/start.S``, its disk has the
program and the calls, and its debugger writes the answer to a file. That takes some 0.2 s in all.
The emulator stops a program with an instruction that its processor lacks; Bochs 2.7 also with a
gather whose indices are in one of the upper sixteen registers, so LLVM is told to make none.
"""

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.support import programs
from tests.support.programs import Case

# As in emulated/bare.c: the answer's place, the size of what it begins with; sectors of the disk.
_ANSWER = 0x10000000
_HEADER = 4096
_SECTOR = 512
_CYLINDER = 16 * 63 * _SECTOR  # of which disks have a whole number
_MEGABYTES = 512
_TIME_LIMIT = 300.0  # seconds

_TOOLS = "x86_64-linux-gnu-"
_COMPILER, _OBJCOPY = f"{_TOOLS}gcc", f"{_TOOLS}objcopy"
_FLAGS = (
    *("-ffreestanding", "-fno-pic", "-fno-stack-protector", "-mno-red-zone"),
    *("-fcf-protection=none", "-fno-asynchronous-unwind-tables"),
)
_SETTINGS = """\
plugin_ctrl: unmapped=1, biosdev=0, speaker=0, extfpuirq=0, parallel=0, serial=0, gameport=0, \
iodebug=0
display_library: term
pci: enabled=0
magic_break: enabled=1
log: bochs.log
megs: {megabytes}
cpu: model={model}, ips=1000000
romimage: file=rom
ata0-master: type=disk, path=disk, mode=flat
"""


# Bochs 2.7 refuses those whose index register is one of the upper sixteen.
_NO_GATHERS = ("+prefer-no-gather", "+prefer-no-scatter")


@dataclass(frozen=True)
class Processor:
    """A processor that the emulator knows, and the LLVM name of one whose code it must run."""

    model: str
    mcpu: str
    without: str | None = None  # an extension that the emulator gets wrong

    @property
    def target(self) -> dict[str, Any]:
        wrong = [f"-{self.without}"] if self.without else []
        return {"kind": "llvm", "mcpu": self.mcpu, "mattr": [*_NO_GATHERS, *wrong]}


PROCESSORS = {
    processor.mcpu: processor
    for processor in (
        Processor("corei5_lynnfield_750", "nehalem"),
        Processor("corei7_haswell_4770", "haswell"),
        Processor("corei7_skylake_x", "skylake-avx512"),
        Processor("corei7_icelake_u", "cascadelake"),
        # LLVM shifts bytes with GFNI, whose results are others in Bochs 2.7 than in Bochs 3.0.
        Processor("corei7_icelake_u", "icelake-server", without="gfni"),
    )
}
"""By the name of LLVM."""


@cache
def missing() -> str | None:
    """Name what this computer lacks to emulate an x86 processor."""
    absent = [name for name in ("bochs-bin", _COMPILER, _OBJCOPY) if not shutil.which(name)]
    if absent:
        return f"no {' and no '.join(absent)} on the path"
    folders = Path("/usr/lib").glob("*/bochs/plugins/libbx_term_gui.so")
    return None if any(folders) else "Bochs has no display 'term'"


def run_cases(processor: Processor, cases: Sequence[Case]) -> list[np.ndarray]:
    """Compile the cases' functions for a processor and call each there, as ``programs`` does."""
    run = partial(run_program, processor)
    return programs.run_cases(cases, processor.target, write_assembly, link, run)


# Bochs 2.7 takes the short addresses of these for others where they have AVX512's encoding.
_MISREAD = re.compile(r"^\t(vp(?:ext|ins)r[bw]\t)", re.MULTILINE)
# Directives of LLVM's assembly that older assemblers do not know.
_DEBUGGING = re.compile(r"^\t\.(?:file|loc)\t.*\n", re.MULTILINE)


def write_assembly(module: Any, folder: Path) -> Path:
    """Write a TVM module as assembly, without instructions that the emulator gets wrong."""
    text = _DEBUGGING.sub("", module.inspect_source("asm"))
    path = folder / "functions.s"
    path.write_text(_MISREAD.sub(r"\t{disp32} \1", text))
    return path


def link(files: Sequence[Path], folder: Path) -> Path:
    """Link a program of files that have the table of functions."""
    program = folder / "program.elf"
    system = programs.compiled(_COMPILER, *_FLAGS, "main.c", "bare.c", "start.S")
    script = programs.SOURCES / "bare.ld"
    flags = [*_FLAGS, "-nostdlib", "-static", "-Wl,--build-id=none,--no-warn-rwx-segments"]
    programs.call_tool(
        _COMPILER, *flags, "-T", script, "-o", program, *programs.includes(), *files, *system
    )
    return program


def run_program(processor: Processor, program: Path, calls: bytes, answer_size: int) -> bytes:
    """Run a program on calls as main.c reads them."""
    folder = program.parent
    for name, option in (("rom", "-j"), ("program", "-R")):
        programs.call_tool(_OBJCOPY, "-O", "binary", option, ".rom", program, folder / name)
    parts = [_whole((folder / "program").read_bytes(), _SECTOR), _whole(calls, _SECTOR)]
    header = struct.pack("<2I", *(len(part) // _SECTOR for part in parts))
    disk = b"".join([_whole(header, _SECTOR), *parts])
    (folder / "disk").write_bytes(_whole(disk, _CYLINDER))
    settings = _SETTINGS.format(megabytes=_MEGABYTES, model=processor.model)
    (folder / "settings").write_text(settings)
    size = _HEADER + answer_size
    (folder / "commands").write_text(f'c\nwritemem "answer" {_ANSWER:#x} {size}\nq\n')
    done = subprocess.run(
        ["bochs-bin", "-q", "-f", "settings", "-rc", "commands"],
        cwd=folder,
        env={**os.environ, "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_TIME_LIMIT,
    )
    answer = folder / "answer"
    said = done.stdout.decode(errors="replace")
    assert answer.is_file(), f"the emulator of {processor.model} failed: {said}"
    content = answer.read_bytes()
    (is_done,) = struct.unpack_from("<q", content)
    what = content[8:_HEADER].split(b"\0")[0].decode(errors="replace")
    assert is_done == 1, f"the program failed on {processor.model}: {what}"
    return content[_HEADER:]


def _whole(content: bytes, unit: int) -> bytes:
    return content + bytes(-len(content) % unit)
