"""Running compiled functions on emulated ARM processors.

Functions are cross-compiled, linked into a static program that needs no TVM runtime, and called
there over many inputs in one process. The emulator stops a program with an instruction that its
processor lacks.
"""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import programs
from tests.support.programs import Case
from tvm_qnn.target.target import parse_target

_TIME_LIMIT = 300.0  # seconds


@dataclass(frozen=True)
class Machine:
    """An architecture with its emulator and its cross compiler."""

    triple: str
    emulator: str

    @property
    def compiler(self) -> str:
        return f"{self.triple}-gcc"

    @property
    def missing(self) -> str | None:
        """What this computer lacks to run the architecture's programs."""
        absent = [name for name in (self.emulator, self.compiler) if not shutil.which(name)]
        return f"no {' and no '.join(absent)} on the path" if absent else None


AARCH64 = Machine("aarch64-linux-gnu", "qemu-aarch64")
ARMV7 = Machine("arm-linux-gnueabihf", "qemu-arm")
RISCV64 = Machine("riscv64-linux-gnu", "qemu-riscv64")


@dataclass(frozen=True)
class Core:
    """A processor that the emulator knows, and the target whose code it must run."""

    name: str
    machine: Machine
    target_name: str

    @property
    def target(self) -> dict[str, Any]:
        return dict(parse_target(self.target_name).export())


CORTEX_A72 = Core("cortex-a72", AARCH64, "aarch64")
CORTEX_A76 = Core("cortex-a76", AARCH64, "aarch64-dotprod")
MAX = Core("max,sme=off", AARCH64, "aarch64-i8mm")
CORTEX_A15 = Core("cortex-a15", ARMV7, "armv7-neon")


def on_cores(*cores: Core) -> pytest.MarkDecorator:
    """Run a test for each of these as its argument ``core``, if it can be emulated."""
    return pytest.mark.parametrize("core", [_parameter(core) for core in cores])


def _parameter(core: Core) -> Any:
    return pytest.param(core, id=core.name.split(",")[0], marks=marks(core))


def marks(core: Core) -> list[pytest.MarkDecorator]:
    """Those of a test that runs code for a core."""
    missing = core.machine.missing
    reason = f"cannot emulate {core.name}: {missing}"
    return [pytest.mark.arm, pytest.mark.skipif(missing is not None, reason=reason)]


each_aarch64 = on_cores(CORTEX_A72, CORTEX_A76, MAX)
each_core = on_cores(CORTEX_A72, CORTEX_A76, MAX, CORTEX_A15)


def run(
    core: Core, function: Any, inputs: Sequence[np.ndarray], shape: tuple[int, ...], dtype: str
) -> np.ndarray:
    """Compile a PrimFunc for a core and call it there once."""
    return run_cases(core, [Case(function, inputs, shape, dtype)])[0]


def run_cases(core: Core, cases: Sequence[Case]) -> list[np.ndarray]:
    """Compile the cases' functions for a core and call each there, as ``programs`` does."""
    link, run = partial(_link, core.machine), partial(_run_program, core)
    return programs.run_cases(cases, core.target, programs.write_object, link, run)


def _link(machine: Machine, files: Sequence[Path], folder: Path) -> Path:
    program = folder / "program"
    system = programs.compiled(machine.compiler, "main.c", "linux.c")
    programs.call_tool(machine.compiler, "-static", "-o", program, *files, *system, "-lm")
    return program


def _run_program(core: Core, program: Path, calls: bytes, _: int) -> bytes:
    line = [core.machine.emulator, "-cpu", core.name, str(program)]
    done = subprocess.run(line, input=calls, capture_output=True, check=False, timeout=_TIME_LIMIT)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise AssertionError(f"the program died of {name} on {core.name}: {said}")
    assert done.returncode == 0, f"the program failed on {core.name}: {said}"
    return done.stdout
