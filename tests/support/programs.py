"""Programs for emulated processors: compiled functions, and their caller (``emulated/main.c``).

The program needs no TVM runtime. It calls the functions over many inputs in one process.
"""

import struct
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tvm
import tvm_ffi.libinfo
from tvm_ffi import StructuralKey

from qnn_ops.arrays import Array
from tests.support.unchecked import check_arguments, unchecked

SOURCES = Path(__file__).with_name("emulated")
_ALIGNMENT = 64  # as in main.c, and the size of the fences around an output
_TYPE_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLPack's, by numpy's kind


@dataclass(frozen=True)
class Case:
    """One call of a PrimFunc whose parameters are its inputs and, last, its output."""

    function: Any
    inputs: Sequence[Array]
    shape: tuple[int, ...]
    dtype: str


def run_cases(
    cases: Sequence[Case],
    target: Any,
    write: Callable[[Any, Path], Path],
    link: Callable[[Sequence[Path], Path], Path],
    run: Callable[[Path, bytes, int], bytes],
) -> list[Array]:
    """Compile the cases' functions and call each in one program: the outputs, in order.

    Inputs and outputs lie on multiples of 64 bytes, outputs between fences, and each ends at
    most 63 bytes before memory that stops the program.

    Args:
        cases: what to call.
        target: what to compile for.
        write: writes a module of TVM's, compiled, into a folder: as what a compiler takes.
        link: makes a program in a folder, of that file and one of C.
        run: runs a program on the bytes of calls; told the size of its answer, which it gives.

    Raises:
        AssertionError: if the program dies, say of an instruction that the processor lacks or of
            memory that is not its own, a function fails, or a fence is written to.
    """
    functions, numbers = distinct_functions(cases)
    calls = list(zip(numbers, cases, strict=True))
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-emulated-") as folder:
        files = _compile_functions(functions, target, write, Path(folder))
        return run_calls(calls, link(files, Path(folder)), run)


def distinct_functions(cases: Sequence[Case]) -> tuple[list[Any], list[int]]:
    """Return the functions of cases, each structure once, and the number of each case's function.

    Raises:
        AssertionError: if a function does not take its case's arrays.
    """
    functions: dict[StructuralKey, Any] = {}
    keys: dict[int, StructuralKey] = {}  # by identity: builders of kernels are cached
    for case in cases:
        arrays = [*((array.shape, array.dtype) for array in case.inputs), (case.shape, case.dtype)]
        check_arguments(case.function, arrays)
        if id(case.function) not in keys:
            key = StructuralKey(case.function.without_attr("global_symbol"))  # type: ignore[call-arg]
            functions.setdefault(key, case.function)
            keys[id(case.function)] = key
    places = {key: place for place, key in enumerate(functions)}
    return list(functions.values()), [places[keys[id(case.function)]] for case in cases]


def run_calls(
    calls: Sequence[tuple[int, Case]], program: Path, run: Callable[[Path, bytes, int], bytes]
) -> list[Array]:
    """Call functions of a program by their numbers: the outputs, in order."""
    stream = struct.pack("<q", len(calls)) + b"".join(_call(*call) for call in calls)
    answer = run(program, stream, sum(_answer_size(case) for _, case in calls))
    results = []
    for _, case in calls:
        size = _answer_size(case)
        assert len(answer) >= size
        results.append(_output(case, answer[:size]))
        answer = answer[size:]
    assert not answer
    return results


def write_object(module: Any, folder: Path) -> Path:
    """Write a module of TVM's as an object file."""
    path = folder / "functions.o"
    module.write_to_file(str(path))
    return path


def _compile_functions(
    functions: Sequence[Any], target: Any, write: Callable[[Any, Path], Path], folder: Path
) -> list[Path]:
    """Compile functions: their code, and C for the table in which main.c finds them."""
    names = [f"function_{number}" for number in range(len(functions))]
    mod = tvm.IRModule(
        {
            name: function.with_attr("global_symbol", name)
            for name, function in zip(names, functions, strict=True)
        }
    )
    with unchecked(*functions):
        code = write(tvm.compile(mod, target=tvm.target.Target(target)).mod, folder)
    table = folder / "table.c"
    symbols = [f"__tvm_ffi_{name}" for name in names]
    table.write_text(
        "".join(f"extern int {symbol}(void *, const void *, int, void *);\n" for symbol in symbols)
        + f"int (*const functions[])(void *, const void *, int, void *) = {{{', '.join(symbols)}}};"
    )
    return [code, table]


@cache
def compiled(compiler: str, *options: str) -> tuple[Path, ...]:
    """Object files of C and assembly in the folder ``emulated``; options name them, too."""
    folder = tempfile.TemporaryDirectory(prefix="tvm-qnn-emulated-")
    _KEPT.append(folder)
    words = [str(SOURCES / word) if word.endswith((".c", ".S")) else word for word in options]
    line = [compiler, "-O2", "-Wall", "-Werror", *includes(), *words, "-c"]
    call_tool(*line, folder=Path(folder.name))
    return tuple(sorted(Path(folder.name).glob("*.o")))


def includes() -> list[str]:
    """Return a compiler's options for TVM's headers."""
    headers = [tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path()]
    return [f"-I{header}" for header in headers]


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # removed when Python ends


def call_tool(*words: str | Path, folder: Path | None = None) -> None:
    """Run a tool in a folder; where it fails, so does the test."""
    line = [str(word) for word in words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder)
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


def _size(case: Case) -> int:
    return int(np.prod(case.shape)) * np.dtype(case.dtype).itemsize


def _answer_size(case: Case) -> int:
    """Of the output, made whole, and a fence before it."""
    return _ALIGNMENT + -(-_size(case) // _ALIGNMENT) * _ALIGNMENT


def _output(case: Case, answer: bytes) -> Array:
    block = np.frombuffer(answer, np.uint8)
    end = _ALIGNMENT + _size(case)
    assert (block[:_ALIGNMENT] == 0xA5).all(), "written before the output"
    assert (block[end:] == 0xA5).all(), "written past the output"
    return block[_ALIGNMENT:end].view(case.dtype).reshape(case.shape)
