"""Running x86 kernels: on this processor or on an emulated one."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import tvm

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.stage import stage
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.plan import Plan
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41, Isa
from tests.support import bochs
from tests.support.programs import Case, distinct_functions
from tests.support.unchecked import left_out_by_name, unchecked

_Test = TypeVar("_Test", bound=Callable[..., Any])

# The first processor that has the instructions: its code runs wherever they are.
TARGET = {"kind": "llvm", "mcpu": "cascadelake"}

# For each instruction set likewise, and the names in /proc/cpuinfo of all that its code may use.
_AVX2 = ("avx2", "fma", "bmi1", "bmi2", "movbe")
_AVX512 = (*_AVX2, "avx512bw", "avx512vl", "avx512dq")
_AVX512_VNNI = (*_AVX512, "avx512_vnni")
PROCESSORS = {
    AVX512_VNNI: ("cascadelake", _AVX512_VNNI),
    AVX_VNNI: ("alderlake", (*_AVX2, "avx_vnni")),
    AVX512BW: ("skylake-avx512", _AVX512),
    AVX2: ("haswell", _AVX2),
    SSE41: ("nehalem", ("sse4_1", "sse4_2", "popcnt")),
}
_ICELAKE = (*_AVX512_VNNI, "avx512vbmi", "avx512_vbmi2", "gfni", "vaes")
_FLAGS = {"icelake-server": _ICELAKE, **dict(PROCESSORS.values())}

_FENCE = 4096
_CPUINFO = Path("/proc/cpuinfo")


@cache
def host_has(*features: str) -> bool:
    """Tell whether the processor has all of these, as /proc/cpuinfo calls them."""
    flags = _CPUINFO.read_text() if _CPUINFO.exists() else ""
    return all(flag in flags for flag in features)


def optimized(mcpu: str) -> tvm.target.Target:
    """Return the target for code that a test reads: LLVM optimizes it in every test file."""
    return tvm.target.Target({**TARGET, "mcpu": mcpu, "opt-level": 3})


def runs_here(mcpu: str) -> bool:
    """Tell whether this processor can run code compiled for another."""
    return host_has(*_FLAGS.get(mcpu, ()))


def marks(mcpu: str) -> list[pytest.MarkDecorator]:
    """Those of a test that runs code for a processor: here, in an emulator, or not at all."""
    if runs_here(mcpu):
        return []
    if mcpu not in bochs.PROCESSORS:
        return [pytest.mark.skip(reason=f"the processor cannot run {mcpu}, nor is it emulated")]
    missing = bochs.missing()
    reason = f"the processor cannot run {mcpu}, nor can it be emulated: {missing}"
    return [pytest.mark.avx512, pytest.mark.skipif(missing is not None, reason=reason)]


def needs_vnni(test: _Test) -> _Test:
    """Run a test where AVX512-VNNI is, or is emulated."""
    for mark in marks(TARGET["mcpu"]):
        test = mark(test)
    return test


needs_native_vnni = pytest.mark.skipif(
    not runs_here(TARGET["mcpu"]), reason="the processor has no AVX512-VNNI"
)

each_isa = pytest.mark.parametrize(
    "isa",
    [pytest.param(isa, id=isa.name, marks=marks(mcpu)) for isa, (mcpu, _) in PROCESSORS.items()],
)
"""Run a test for each instruction set as its argument ``isa``, likewise."""


def examples(count: int, mcpu: str = TARGET["mcpu"]) -> int:
    """Return the number of examples of a property: fewer where each starts an emulator."""
    return count if runs_here(mcpu) else -(-count // 5)


def run(function: Any, inputs: list[np.ndarray], shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Compile a PrimFunc and run it on inputs and an output that lies between fences."""
    return run_on(TARGET["mcpu"], function, inputs, shape, dtype)


def run_on(
    mcpu: str, function: Any, inputs: list[np.ndarray], shape: tuple[int, ...], dtype: str
) -> np.ndarray:
    """Compile for a processor and run, in an emulator if this processor cannot run the code."""
    return run_cases(mcpu, [Case(function, inputs, shape, dtype)])[0]


def run_cases(mcpu: str, cases: Sequence[Case]) -> list[np.ndarray]:
    """Run several cases likewise."""
    if not runs_here(mcpu):
        return bochs.run_cases(bochs.PROCESSORS[mcpu], cases)
    return [call() for call in prepared(mcpu, cases)]


def prepared(mcpu: str, cases: Sequence[Case]) -> list[Callable[[], np.ndarray]]:
    """Compile cases for this processor, and return a call of each.

    Those that leave out the same passes become one module, which takes half of the time that a
    module for each takes.
    """
    target = tvm.target.Target({**TARGET, "mcpu": mcpu})
    functions, numbers = distinct_functions(cases)
    names = [f"case_{number}" for number in range(len(functions))]
    parts: dict[tuple[str, ...], dict[str, Any]] = {}
    for name, function in zip(names, functions, strict=True):
        part = parts.setdefault(left_out_by_name(function), {})
        part[name] = function.with_attr("global_symbol", name)
    libraries: dict[str, Any] = {}
    for part in parts.values():
        with unchecked(*part.values()):
            library = tvm.compile(tvm.IRModule(part), target=target)
        libraries.update(dict.fromkeys(part, library))
    called = [libraries[name][name] for name in names]
    return [
        partial(_run, called[number], case) for number, case in zip(numbers, cases, strict=True)
    ]


def _run(function: Callable[..., Any], case: Case) -> np.ndarray:
    size = int(np.prod(case.shape)) * np.dtype(case.dtype).itemsize
    memory = np.full(size + 2 * _FENCE + 64, 0xA5, np.uint8)
    start = _FENCE + -memory.ctypes.data % 64
    output = memory[start : start + size].view(case.dtype).reshape(case.shape)
    tensors = [tvm.runtime.tensor(np.asarray(array, order="C")) for array in case.inputs]
    function(*tensors, tvm.runtime.from_dlpack(output))
    assert (memory[:start] == 0xA5).all(), "written before the output"
    assert (memory[start + size :] == 0xA5).all(), "written past the output"
    return output


def case_of(plan: Plan, data: np.ndarray, weights: Weights) -> Case:
    """Return the call of a planned function with data, as the plan reads it."""
    packed = plan.pack(weights)
    inputs = [data, *packed.constants]
    return Case(plan.function(packed), inputs, plan.spec.target_shape, plan.spec.output.dtype)


def run_convs(
    convolutions: Sequence[tuple[ConvSpec, np.ndarray, Weights]],
    isa: Isa = AVX512_VNNI,
    planned: Callable[[ConvSpec, Isa], Plan] = dot_plan,
) -> list[np.ndarray]:
    """Stage the data of convolutions if need be, and convolve them in some way.

    All copies are compiled together, and so are all convolutions.
    """
    mcpu, _ = PROCESSORS[isa]
    copies = [
        Case(stage(spec), [data], spec.staged_shape, spec.staged_dtype)
        for spec, data, _ in convolutions
        if spec.needs_staging
    ]
    staged = iter(run_cases(mcpu, copies) if copies else [])
    cases = []
    for spec, data, weights in convolutions:
        own = next(staged) if spec.needs_staging else data
        cases.append(case_of(planned(spec, isa), own, weights))
    return run_cases(mcpu, cases)
