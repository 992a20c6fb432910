"""Running compiled functions on emulated microcontrollers, all in one program."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import tirx

from legalize.kernels.conv2d.plan import Ready
from tests.support.convolutions import Problem, check_results
from tests.support.programs import Case
from tvm_qnn.footprint.boards import BOARDS, missing, run
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.standalone.image import lean, write_object
from tvm_qnn.target.target import parse_target

_APART = 64  # bytes between outputs, which stay zero


def emulated(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that runs functions on a board."""
    reason = f"no emulated boards: {missing()}"
    return pytest.mark.mcu(pytest.mark.skipif(missing() is not None, reason=reason)(test))


def run_cases(core: str, cases: Sequence[Case], folder: Path) -> list[np.ndarray]:
    """Compile the cases' functions for a core, as one where they are alike, and call each.

    Args:
        core: a name in ``BOARDS``.
        cases: what to call.
        folder: for files; must be empty.

    Raises:
        AssertionError: if something is written outside an output.
    """
    names = [f"called_{number}" for number in range(len(cases))]
    functions = {name: case.function for name, case in zip(names, cases, strict=True)}
    symbols = {name: name for name in names}
    compiled = compile_functions(functions, symbols, parse_target(core))
    merged = compiled.merged({name: {"": ()} for name in functions})
    code = lean(str(compiled.module_of(merged.functions).inspect_source("ll")), compiled.target)
    write_object(folder / "model.o", code, "no_constants", b"\0", 16)
    inputs, calls, places = _Block(), [], []
    size = _APART
    for name, case in zip(names, cases, strict=True):
        pointers = [f"in + {inputs.add(array)}" for array in case.inputs]
        places.append(size)
        scratch, start = [], 0
        for each in compiled.scratch[name]:
            scratch.append(f"work + {start}")
            start += _padded(each)
        called, numbers = merged.calls[name]
        operands = [*pointers, f"out + {size}", *scratch]
        calls.append((called, operands, numbers, start))
        size += _padded(int(np.prod(case.shape)) * np.dtype(case.dtype).itemsize) + _APART
    data = inputs.bytes()
    _write(folder, calls, len(data), size)
    answer = run(BOARDS[core], folder, [np.frombuffer(data, np.uint8)]).outputs[0]
    return _outputs(np.frombuffer(answer, np.uint8), cases, places)


def check_problems(
    core: str, problems: Sequence[Problem], planned: Callable[[Problem], Ready | None], folder: Path
) -> list[Ready]:
    """Assert that planned convolutions give their results; return the plans that there are."""
    plans = [planned(problem) for problem in problems]
    served = [(each, plan) for each, plan in zip(problems, plans, strict=True) if plan is not None]
    results = run_cases(core, [problem.case(plan) for problem, plan in served], folder)
    check_results([problem for problem, _ in served], results)
    return [plan for _, plan in served]


def _write(
    folder: Path, calls: Sequence[tuple[str, list[str], Sequence[int], int]], read: int, made: int
) -> None:
    scratch = max(start for *_, start in calls) + _APART
    (folder / "model.h").write_text(
        f"#define MODEL_ALIGNMENT 16\n#define MODEL_WORKSPACE_SIZE {scratch}\n"
        f"#define MODEL_INPUT_0_SIZE {read}\n#define MODEL_OUTPUT_0_SIZE {made}\n"
        "int model_run(const void *const *inputs, void *const *outputs, void *workspace);\n"
    )
    declared = {
        name: ", ".join([*["const void *"] * len(operands), *["int"] * len(numbers)])
        for name, operands, numbers, _ in calls
    }
    called = "".join(
        f"  {name}({', '.join([*operands, *map(str, numbers)])});\n"
        for name, operands, numbers, _ in calls
    )
    (folder / "model.c").write_text(
        '#include "model.h"\n'
        + "".join(f"void {name}({kinds});\n" for name, kinds in declared.items())
        + "int model_run(const void *const *inputs, void *const *outputs, void *workspace) {\n"
        "  const char *in = inputs[0];\n  char *out = outputs[0], *work = workspace;\n"
        f"  (void)work;\n{called}  return 0;\n}}\n"
    )


class _Block:
    """Arrays one after the other, each aligned."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: np.ndarray) -> int:
        """Return where an array begins."""
        start, content = self._size, np.ascontiguousarray(array).tobytes()
        self._size = _padded(start + len(content))
        self._parts.append(content.ljust(self._size - start, b"\0"))
        return start

    def bytes(self) -> bytes:
        """Return all of them."""
        return b"".join(self._parts)


def _padded(size: int) -> int:
    return -(-size // 16) * 16


def _outputs(answer: np.ndarray, cases: Sequence[Case], places: Sequence[int]) -> list[np.ndarray]:
    results, rest = [], answer.copy()
    for place, case in zip(places, cases, strict=True):
        size = int(np.prod(case.shape)) * np.dtype(case.dtype).itemsize
        results.append(answer[place : place + size].view(case.dtype).reshape(case.shape))
        rest[place : place + size] = 0
    assert not rest.any(), "written beside an output"
    return results


def assembly_of(function: tirx.PrimFunc, core: str) -> str:
    """Compile a function for a core, as an export does, and return the code."""
    compiled = compile_functions({"f": function}, {"f": "m_f"}, parse_target(core))
    code = lean(str(compiled.module.inspect_source("ll")), compiled.target)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.ll"
        file.write_text(code)
        return str(tvm.runtime.load_module(str(file)).inspect_source("asm"))
