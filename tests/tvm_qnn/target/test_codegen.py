import importlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count as numbers_from
from pathlib import Path
from threading import Lock

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

import tvm_qnn
from legalize.pipeline import relax_pipeline
from tests.support.linking import needs_linker
from tests.support.modules import module
from tests.support.processes import ROOT, printed
from tvm_qnn import digits
from tvm_qnn.library import runtime
from tvm_qnn.target.codegen import Compiled, compile_module
from tvm_qnn.target.parts import _length
from tvm_qnn.target.target import host_target

X = np.arange(4, dtype=np.int8)


def adders(count: int) -> tvm.IRModule:
    """So many inputs of different sizes, each added to itself."""
    inputs = {f"x{i}": relax.TensorType((i + 1,), "int8") for i in range(count)}
    return module(inputs, lambda *xs: [relax.op.add(x, x) for x in xs])


@pytest.mark.parametrize("count", [1, 5, 40])
def test_functions_are_compiled_in_parts(count: int) -> None:
    # TVM's own pipeline: ours makes one function of a small model.
    pipeline = relax.get_default_pipeline(host_target())
    compiled = compile_module(adders(count), host_target(), pipeline)
    assert len(compiled.kernels) == min(count, 16)
    program = runtime.Program(compiled.bytecode, list(compiled.kernels.values()), (), None)
    arrays = [np.full(i + 1, i, np.int8) for i in range(count)]
    results = program(*map(runtime.tensor, arrays))
    for array, result in zip(arrays, results, strict=True):
        assert runtime.array_of(result).tolist() == (2 * array).tolist()


def test_machine_code_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build loads it, and an export writes it."""
    numbers = numbers_from(0)
    made = "tvm_qnn.target.codegen.object_of"
    monkeypatch.setattr(made, lambda _module: str(next(numbers)).encode())
    pipeline = relax.get_default_pipeline(host_target())
    compiled = compile_module(adders(3), host_target(), pipeline)
    for _ in range(2):
        files = compiled.write_objects(tmp_path)
        assert sorted(file.read_bytes() for file in files) == [b"0", b"1", b"2"]


def test_a_module_is_written_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption may leave a thread behind that still writes."""
    writing, met = Lock(), []

    def written(_module: object) -> bytes:
        met.append(writing.acquire(blocking=False))
        time.sleep(0.05)
        writing.release()
        return b""

    monkeypatch.setattr("tvm_qnn.target.codegen.object_of", written)
    pipeline = relax.get_default_pipeline(host_target())
    compiled = compile_module(adders(1), host_target(), pipeline)
    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(compiled._object_of, 2 * [*compiled.parts])] == [b"", b""]
    assert met == [True, True]


def chains(count: int) -> tvm.IRModule:
    """As ``adders``, but each sum is taken twice: the second function reads no input."""
    inputs = {f"x{i}": relax.TensorType((4, i + 1), "int8") for i in range(count)}

    def chain(x: relax.Expr) -> relax.Expr:
        once = relax.op.add(x, x)
        return relax.op.matmul(once, relax.op.permute_dims(once))

    return module(inputs, lambda *xs: [chain(x) for x in xs])


def test_the_longest_module_is_compiled_first() -> None:
    pipeline = relax.get_default_pipeline(host_target())
    parts = compile_module(chains(20), host_target(), pipeline).parts.values()
    lengths = [sum(map(_length, part.functions.values())) for part in parts]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


def test_only_functions_that_read_inputs_check_their_arguments() -> None:
    pipeline = relax.get_default_pipeline(host_target())
    compiled = compile_module(chains(6), host_target(), pipeline)
    sources = [str(kernel.inspect_source("ll")) for kernel in compiled.kernels.values()]
    checking = [source for source in sources if "to be aligned" in source or "Expect" in source]
    assert 0 < len(checking) < len(sources)
    program = runtime.Program(compiled.bytecode, list(compiled.kernels.values()), (), None)
    arrays = [np.ones((4, i + 1), np.int8) for i in range(6)]
    results = program(*map(runtime.tensor, arrays))
    for number, result in enumerate(results):
        assert (runtime.array_of(result) == 4 * (number + 1)).all()


@pytest.mark.parametrize("can_link", [False, pytest.param(True, marks=needs_linker)])
def test_functions_by_name_share_modules(monkeypatch: pytest.MonkeyPatch, can_link: bool) -> None:
    monkeypatch.setattr("legalize.passes.one_function._WEIGHTS_OF_BODIES", 0)
    if not can_link:
        monkeypatch.setattr(Compiled, "_loaded", lambda _self: (_ for _ in ()).throw(OSError()))
    compiled = compile_module(chains(8), host_target(), relax_pipeline(host_target()))
    assert len(compiled.parts) < sum(len(part.functions) for part in compiled.parts.values())
    modules = compiled.runnable()
    assert len(modules) == 1
    program = runtime.Program(compiled.bytecode, modules, compiled.constants, compiled)
    arrays = [np.ones((4, i + 1), np.int8) for i in range(8)]
    results = program(*map(runtime.tensor, arrays))
    for number, result in enumerate(results):
        assert (runtime.array_of(result) == 4 * (number + 1)).all()


@pytest.mark.parametrize("reshaped", [False, True])
def test_an_input_that_is_not_contiguous_is_refused(reshaped: bool) -> None:
    def compute(x: relax.Expr) -> relax.Expr:
        rows = relax.op.reshape(x, (16,)) if reshaped else x
        return relax.op.add(rows, rows)

    mod = module({"x": relax.TensorType((4, 4), "int8")}, compute)
    compiled = compile_module(mod, host_target(), relax.get_default_pipeline(host_target()))
    program = runtime.Program(compiled.bytecode, list(compiled.kernels.values()), (), None)
    every_second = tvm_ffi.from_dlpack(np.ones((4, 8), np.int8)[:, ::2])
    with pytest.raises(Exception, match=r"(?i)contiguous|strides|compact"):
        program(every_second)


def test_a_model_that_computes_nothing_compiles() -> None:
    mod = module({"x": relax.TensorType((4,), "int8")}, lambda x: relax.op.reshape(x, (2, 2)))
    assert tvm_qnn.build(mod, "host").run(X).tolist() == [[0, 1], [2, 3]]


EXPORT = """
import sys, tvm_qnn
from legalize.passes import one_function
from tvm_qnn import digits
one_function._WEIGHTS_OF_BODIES = 0
mod, params = tvm_qnn.from_tflite(digits.model("int8"))
tvm_qnn.build(mod, "host", params).export(sys.argv[1])
"""


@needs_linker
def test_the_same_model_gives_the_same_file_byte_by_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here with all processors, and in a process of its own with one and with other hashes. Neither
    # takes objects of the other.
    files = [tmp_path / "first.so", tmp_path / "elsewhere" / "second.so"]
    files[1].parent.mkdir()
    monkeypatch.setattr("legalize.passes.one_function._WEIGHTS_OF_BODIES", 0)
    monkeypatch.setenv("TVM_QNN_CACHE", str(tmp_path / "first"))
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    tvm_qnn.build(mod, "host", params).export(files[0])
    own = str(tmp_path / "second")
    printed(EXPORT, str(files[1]), PYTHONHASHSEED="1", TVM_NUM_THREADS="1", TVM_QNN_CACHE=own)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_an_error_in_one_part_is_the_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = importlib.import_module("tvm_qnn.target.parts")

    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("no registers left")

    monkeypatch.setattr(parts.tirx, "build", fail)
    with pytest.raises(RuntimeError, match="no registers left"):
        tvm_qnn.build(adders(1), "host")


_LOOK_UP_AND_ADD = """
import resource
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tvm_qnn import build

resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
for size in (3, 4, 6):
    file = ModelWriter()
    encodings = ((0.25, 0), (1 / 256, -128), (0.5, 72))
    x, y, z = (
        file.tensor(name, (size,), "int8", Quantization.per_tensor(*encoding))
        for name, encoding in zip("xyz", encodings, strict=True)
    )
    file.operator("LOGISTIC", [x], [y])
    file.operator("ADD", [y, x], [z], fused_activation_function="RELU6")
    mod, params = from_tflite(file.finish([x], [z]))
    build(mod, "llvm -mcpu=znver4", params)._origin._compiled.make_runnable()
"""


def test_lookups_of_parts_of_a_vector_compile_in_a_bounded_time() -> None:
    """LLVM went on for ever selecting instructions of AVX512-VBMI for both kernels together."""
    command = [sys.executable, "-c", _LOOK_UP_AND_ADD]
    subprocess.run(command, check=True, cwd=ROOT, timeout=120)
