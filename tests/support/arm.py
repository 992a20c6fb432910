"""Running compiled functions on emulated ARM processors.

Functions are cross-compiled, linked into a static program that needs no TVM runtime
(``arm_main.c``), and called there over many inputs in one process. The emulator stops a program
with an instruction that its processor lacks.
"""

from __future__ import annotations

import shutil
import signal
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi.libinfo

from tvm_qnn.target import parse_target

Array = np.ndarray[Any, Any]

_MAIN = Path(__file__).with_name("arm_main.c")
_ALIGNMENT = 64  # as in arm_main.c, and the size of the fences around an output
_TYPE_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLPack's, by numpy's kind
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
    """Run a test for each of these as its argument ``core``, where it can be emulated."""
    return pytest.mark.parametrize("core", [_parameter(core) for core in cores])


def _parameter(core: Core) -> Any:
    missing = core.machine.missing
    skip = pytest.mark.skipif(missing is not None, reason=f"cannot emulate {core.name}: {missing}")
    return pytest.param(core, id=core.name.split(",")[0], marks=[pytest.mark.arm, skip])


each_aarch64 = on_cores(CORTEX_A72, CORTEX_A76, MAX)
each_core = on_cores(CORTEX_A72, CORTEX_A76, MAX, CORTEX_A15)


@dataclass(frozen=True)
class Case:
    """One call of a PrimFunc whose parameters are its inputs and, last, its output."""

    function: Any
    inputs: Sequence[Array]
    shape: tuple[int, ...]
    dtype: str


def run(
    core: Core, function: Any, inputs: Sequence[Array], shape: tuple[int, ...], dtype: str
) -> Array:
    """Compile a PrimFunc for a core and call it there once."""
    return run_cases(core, [Case(function, inputs, shape, dtype)])[0]


def run_cases(core: Core, cases: Sequence[Case]) -> list[Array]:
    """Compile the cases' functions for a core and call each there: the outputs, in order.

    Inputs and outputs lie on multiples of 64 bytes, outputs between fences, and each ends at
    most 63 bytes before memory that stops the program.

    Raises:
        AssertionError: if the program dies, say of an instruction that the core lacks or of
            memory that is not its own, a function fails, or a fence is written to.
    """
    # By identity: builders of kernels are cached.
    functions = list({id(case.function): case.function for case in cases}.values())
    numbers = {id(function): number for number, function in enumerate(functions)}
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-arm-") as folder:
        program = link_program(core, functions, Path(folder))
        calls = [struct.pack("<q", len(cases))]
        calls += [_call(numbers[id(case.function)], case) for case in cases]
        answer = run_program(core, program, b"".join(calls))
    results = []
    for case in cases:
        result, answer = _output(case, answer)
        results.append(result)
    assert not answer
    return results


def link_program(core: Core, functions: Sequence[Any], folder: Path) -> Path:
    """Cross-compile functions and link the program that calls them by their number."""
    names = [f"function_{number}" for number in range(len(functions))]
    mod = tvm.IRModule(
        {
            name: function.with_attr("global_symbol", name)
            for name, function in zip(names, functions, strict=True)
        }
    )
    objects, table, program = folder / "functions.o", folder / "table.c", folder / "program"
    tvm.compile(mod, target=tvm.target.Target(core.target)).mod.write_to_file(str(objects))
    symbols = [f"__tvm_ffi_{name}" for name in names]
    table.write_text(
        "".join(f"extern int {symbol}(void *, const void *, int, void *);\n" for symbol in symbols)
        + f"int (*const functions[])(void *, const void *, int, void *) = {{{', '.join(symbols)}}};"
    )
    _call_tool(
        core.machine.compiler,
        *("-static", "-o", program, table, objects, _main_object(core.machine), "-lm"),
    )
    return program


def run_program(core: Core, program: Path, calls: bytes, *options: str) -> bytes:
    """Run a program under the emulator, with calls as arm_main.c reads them."""
    line = [core.machine.emulator, "-cpu", core.name, *options, str(program)]
    done = subprocess.run(line, input=calls, capture_output=True, check=False, timeout=_TIME_LIMIT)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise AssertionError(f"the program died of {name} on {core.name}: {said}")
    assert done.returncode == 0, f"the program failed on {core.name}: {said}"
    return done.stdout


@cache
def _main_object(machine: Machine) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="tvm-qnn-arm-")
    _KEPT.append(folder)
    path = Path(folder.name, "main.o")
    headers = [tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path()]
    includes = [f"-I{header}" for header in headers]
    _call_tool(machine.compiler, "-O2", "-Wall", "-Werror", *includes, "-c", "-o", path, _MAIN)
    return path


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # removed when Python ends


def _call_tool(*words: str | Path) -> None:
    line = [str(word) for word in words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(line)}: {done.stderr}"


def _call(number: int, case: Case) -> bytes:
    parts = [struct.pack("<2q", number, len(case.inputs) + 1)]
    for array in case.inputs:
        parts += [_header(0, array.shape, array.dtype), np.asarray(array, order="C").tobytes()]
    parts.append(_header(1, case.shape, np.dtype(case.dtype)))
    return b"".join(parts)


def _header(kind: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    fields = [kind, _TYPE_CODES[dtype.kind], dtype.itemsize * 8, len(shape), *shape]
    return struct.pack(f"<{len(fields)}q", *fields)


def _output(case: Case, answer: bytes) -> tuple[Array, bytes]:
    """The output of a case, and what of the answer follows it."""
    size = int(np.prod(case.shape)) * np.dtype(case.dtype).itemsize
    end = _ALIGNMENT + -(-size // _ALIGNMENT) * _ALIGNMENT
    assert len(answer) >= end
    block = np.frombuffer(answer[:end], np.uint8)
    assert (block[:_ALIGNMENT] == 0xA5).all(), "written before the output"
    assert (block[_ALIGNMENT + size :] == 0xA5).all(), "written past the output"
    return block[_ALIGNMENT : _ALIGNMENT + size].view(case.dtype).reshape(case.shape), answer[end:]
