from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import tvm_qnn
from qnn_ops.errors import QnnError
from qnn_ops.signature import Signature, TensorInfo, with_signature
from tests.support.linking import needs_linker
from tests.support.modules import adder, module
from tvm_qnn.library.library import Library
from tvm_qnn.target.linker import COMPILERS

ROOT = Path(__file__).resolve().parents[3]
X = np.arange(6, dtype=np.int8).reshape(2, 3)
W = np.full((2, 3), 10, np.int8)


@pytest.fixture(scope="module")
def library() -> Library:
    return tvm_qnn.build(adder(), "host")


@pytest.fixture(scope="module")
def two_outputs() -> Library:
    mod = module(
        {"x": relax.TensorType((4,), "int8")},
        lambda x: [relax.op.add(x, x), relax.op.reshape(x, (2, 2))],
    )
    infos = (TensorInfo("sum", (4,), "int8"), TensorInfo("square", (2, 2), "int8"))
    mod["main"] = with_signature(mod["main"], Signature((TensorInfo("x", (4,), "int8"),), infos))
    return tvm_qnn.build(mod, "host")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not any(map(shutil.which, COMPILERS)):
        pytest.skip("there is no C compiler to link with")
    path = tmp_path_factory.mktemp("exported") / "adder.so"
    tvm_qnn.build(adder(), "host", {"w": W}).export(path)
    return path


# Running


def test_inputs_go_by_position_or_name_or_both(library: Library) -> None:
    runs = [library.run(X, W), library.run(w=W, x=X), library.run(X, w=W)]
    for result in (*runs, library.run({"w": W, "x": X})):
        assert isinstance(result, np.ndarray)
        assert result.dtype == np.int8
        np.testing.assert_array_equal(result, X + W)


def aligned(shape: tuple[int, ...], dtype: str) -> Any:
    """Return an array whose memory TVM's code takes as it is."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


@pytest.mark.parametrize("make", [np.zeros, aligned])
def test_outputs_go_into_arrays_that_are_given(library: Library, make: Any) -> None:
    for _ in range(2):
        target = make((2, 3), "int8")
        assert library.run(X, W, out={"output0": target}) is target
        assert target.tolist() == (X + W).tolist()
    strided = np.zeros((2, 6), "int8")[:, ::2]
    library.run({"x": X, "w": W}, out={"output0": strided})
    assert strided.tolist() == (X + W).tolist()
    same = make((2, 3), "int8")
    same[...] = X
    library.run(same, W, out={"output0": same})
    assert same.tolist() == (X + W).tolist()
    assert library.run(X, W) is not same


def test_the_machine_takes_arrays_that_are_aligned_as_they_are(library: Library) -> None:
    x, w, target = (aligned((2, 3), "int8") for _ in range(3))
    x[...], w[...] = X, W
    library.run(x, w)
    (runner,) = library._ready()._idle
    called: set[int] = set()
    kernel = runner._kernel
    assert kernel is not None

    def watch(*tensors: Any) -> None:
        called.update(np.from_dlpack(tensor).ctypes.data for tensor in tensors)
        kernel(*tensors)

    runner._kernel = watch
    library.run(x, w, out={"output0": target})
    runner._kernel = kernel
    assert called >= {array.ctypes.data for array in (x, w, target)}


def test_one_of_several_outputs_may_be_given(two_outputs: Library) -> None:
    target = np.zeros((2, 2), np.int8)
    found = two_outputs.run(np.arange(4, dtype=np.int8), out={"square": target})
    assert found["square"] is target
    assert [each.tolist() for each in found.values()] == [[0, 2, 4, 6], [[0, 1], [2, 3]]]


def test_real_values_go_into_arrays_that_are_given(quantized: Library) -> None:
    inputs = np.arange(4, dtype=np.int8), np.arange(4, dtype=np.int32)
    target = aligned((4,), "float32")
    expected = quantized.run(*inputs, dequantize_outputs=True)["sum"]
    found = quantized.run(*inputs, dequantize_outputs=True, out={"sum": target})
    assert found["sum"] is target
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"y": X}, r"out: no output is named 'y'; there are output0"),
        (
            {"output0": X[0]},
            r"out: output 'output0' gives int8 of shape \(2, 3\), got int8 of shape",
        ),
        ({"output0": X.astype("int16")}, r"gives int8 of shape \(2, 3\), got int16 of shape"),
        ({"output0": [[1]]}, r"gives int8 of shape \(2, 3\), got an object of type list"),
        ({"output0": np.broadcast_to(X[0], (2, 3))}, r"output 'output0' cannot be written to"),
        (X, r"no input is named 'out'; there are x, w"),
    ],
)
def test_arrays_for_outputs_that_do_not_fit_are_errors(
    library: Library, out: Any, message: str
) -> None:
    with pytest.raises(QnnError, match=message):
        library.run(X, W, out=out)


def test_a_call_is_a_run(quantized: Library) -> None:
    x, n = np.array([0.5, 0, 0, 0], np.float32), np.zeros(4, np.int32)
    assert quantized(x, n=n, quantize_inputs=True)["sum"].tolist() == [22, 20, 20, 20]


def test_it_shows_its_target_and_tensors(quantized: Library) -> None:
    processor = quantized.metadata.processor
    assert repr(quantized).splitlines() == [
        f"tvm_qnn.Library for {processor}",
        "  input x  int8  4  scale 0.5, zero point 10",
        "  input n  int32  4",
        "  output sum  int8  4  scale 0.25, zero point -1",
        "  output n  int32  4",
    ]
    html = quantized._repr_html_()
    assert f"<caption>tvm_qnn.Library for {processor}</caption>" in html
    cells = "<td>input</td><td>x</td><td>int8</td><td>(4,)</td><td>0.5</td><td>10</td>"
    assert f"<tr>{cells}</tr>" in html


def test_an_input_need_not_be_contiguous(library: Library) -> None:
    transposed = np.ascontiguousarray(X.T).T
    assert not transposed.flags.c_contiguous
    np.testing.assert_array_equal(library.run(transposed, W), X + W)


def test_a_result_is_the_callers_own(library: Library) -> None:
    first = library.run(X, W)
    library.run(W, W)
    np.testing.assert_array_equal(first, X + W)


def test_several_outputs_are_a_dict_in_order(two_outputs: Library) -> None:
    result = two_outputs.run(np.array([1, 2, 3, 4], np.int8))
    assert {name: array.tolist() for name, array in result.items()} == {
        "sum": [2, 4, 6, 8],
        "square": [[1, 2], [3, 4]],
    }
    assert list(result) == ["sum", "square"]


def test_a_tuple_of_one_output_is_that_output() -> None:
    mod = module({"x": relax.TensorType((2,), "int8")}, lambda x: [relax.op.add(x, x)])
    assert tvm_qnn.build(mod, "host").run(np.array([1, 2], np.int8)).tolist() == [2, 4]


def test_scalars_are_inputs_and_outputs() -> None:
    ty = relax.TensorType((), "int8")
    library = tvm_qnn.build(module({"x": ty, "w": ty}, relax.op.add), "host", {"w": np.int8(3)})
    result = library.run(np.array(4, np.int8))
    assert (result.shape, result.tolist()) == ((), 7)


def test_any_name_can_be_an_input() -> None:
    ty = relax.TensorType((2,), "int8")
    library = tvm_qnn.build(module({"self": ty, "input:0": ty}, relax.op.add), "host")
    ones = np.ones(2, np.int8)
    named: dict[str, Any] = {"self": ones, "input:0": ones}
    assert library.run(**named).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("arrays", "named", "message"),
    [
        ([X], {}, "missing input 'w'"),
        ([], {}, "missing input 'x', 'w'"),
        ([X, W, W], {}, "the model has 2 inputs, got 3 arrays"),
        ([X], {"v": W}, "no input is named 'v'; there are x, w"),
        ([X, W], {"x": X}, "input 'x' is given twice"),
        ([X, W[:1]], {}, r"input 'w' takes int8 of shape \(2, 3\), got int8 of shape \(1, 3\)"),
        ([X.astype(np.uint8), W], {}, r"input 'x' takes int8 .* got uint8"),
        ([X, 3], {}, r"input 'w' takes int8 .* got int64 of shape \(\)"),
        ([X, "w"], {}, r"input 'w' takes int8 "),
    ],
)
def test_inputs_that_do_not_fit_are_errors(
    library: Library, arrays: list[Any], named: dict[str, Any], message: str
) -> None:
    for call in (library.run, library.prepare, library.benchmark):
        if call == library.benchmark and not arrays:
            continue  # no inputs at all mean zeros
        with pytest.raises(QnnError, match=message):
            call(*arrays, **named)


def test_a_library_for_another_machine_says_so_instead_of_running() -> None:
    here = tvm.target.codegen.llvm_get_system_triple()
    other = "aarch64-linux-gnu" if "x86_64" in here else "x86_64-linux-gnu"
    library = tvm_qnn.build(adder(), f"llvm -mtriple={other}")
    with pytest.raises(QnnError, match=f"cannot run here: it is for {other}"):
        library.run(X, W)


@pytest.fixture(scope="module")
def quantized() -> Library:
    """x + x of an int8 x in steps of 0.5, and x itself; then plain int32."""
    mod = module(
        {"x": relax.TensorType((4,), "int8"), "n": relax.TensorType((4,), "int32")},
        lambda x, n: [relax.op.add(x, x), relax.op.add(n, n)],
    )
    x = TensorInfo("x", (4,), "int8", 0.5, 10)
    infos = (TensorInfo("sum", (4,), "int8", 0.25, -1), TensorInfo("n", (4,), "int32"))
    inputs = (x, TensorInfo("n", (4,), "int32"))
    mod["main"] = with_signature(mod["main"], Signature(inputs, infos))
    return tvm_qnn.build(mod, "host")


def test_reals_are_quantized_and_results_dequantized_on_request(quantized: Library) -> None:
    reals, counts = np.array([-1.25, 0.25, 1e9, -5]), np.arange(4, dtype=np.int32)
    # In steps of 0.5, ties away from zero: -3, 1, saturated, -10; and 10 more.
    result = quantized.run(reals.astype(np.float32), counts, quantize_inputs=True)
    assert result["sum"].tolist() == [14, 22, -2, 0]  # int8 wraps 254 to -2
    assert result["n"].dtype == np.int32
    reals64 = quantized.run(reals, counts, quantize_inputs=True, dequantize_outputs=True)
    assert reals64["sum"].dtype == np.float32
    assert reals64["sum"].tolist() == [3.75, 5.75, -0.25, 0.25]
    assert reals64["n"].tolist() == [0, 2, 4, 6]
    # Integers stay the same.
    whole = quantized.run(np.ones(4, np.int8), counts, quantize_inputs=True)
    assert whole["sum"].tolist() == [2, 2, 2, 2]


def test_what_cannot_be_quantized_is_an_error(quantized: Library) -> None:
    reals, counts = np.zeros(4, np.float32), np.zeros(4, np.int32)
    with pytest.raises(QnnError, match=r"input 'x' takes int8 .* got float32"):
        quantized.run(reals, counts)
    with pytest.raises(QnnError, match=r"input 'n' takes int32 .* got float32"):
        quantized.run(reals, counts.astype(np.float32), quantize_inputs=True)
    with pytest.raises(QnnError, match="input 'x': values must be numbers to be quantized"):
        quantized.run(np.full(4, np.nan), counts, quantize_inputs=True)
    with pytest.raises(QnnError, match=r"input 'x' takes int8 of shape \(4,\), got int8 of .*\(3,"):
        quantized.run(reals[:3], counts, quantize_inputs=True)


def test_outputs_of_one_name_do_not_collapse() -> None:
    mod = module({"x": relax.TensorType((2,), "int8")}, lambda x: [relax.op.add(x, x), x, x])
    infos = [TensorInfo(name, (2,), "int8") for name in ("y", "y", "y_2")]
    signature = Signature((TensorInfo("x", (2,), "int8"),), tuple(infos))
    mod["main"] = with_signature(mod["main"], signature)
    library = tvm_qnn.build(mod, "host")
    result = library.run(np.array([1, 2], np.int8))
    assert [info.name for info in library.outputs] == list(result) == ["y", "y_3", "y_2"]
    assert [array.tolist() for array in result.values()] == [[2, 4], [1, 2], [1, 2]]


def test_results_that_are_inputs_or_constants_are_copies() -> None:
    mod = module({"x": relax.TensorType((2, 3), "int8")}, lambda x: [relax.op.reshape(x, (6,)), x])
    library = tvm_qnn.build(mod, "host")
    x = X.copy()
    for array in library.run(x).values():
        array[...] = 99
    np.testing.assert_array_equal(x, X)


def test_inputs_that_cannot_be_written_to_or_lie_anywhere_are_taken(library: Library) -> None:
    constant = X.copy()
    constant.flags.writeable = False
    for shift in range(3):
        memory = np.zeros(6 + shift, np.int8)
        moved = memory[shift:].reshape(2, 3)
        moved[...] = 7
        np.testing.assert_array_equal(library.run(constant, moved), X + 7)


def test_a_closed_library_says_so(tmp_path: Path) -> None:
    with tvm_qnn.build(adder(), "host") as library:
        run = library.prepare(X, W)
        assert library.run(X, W).tolist() == (X + W).tolist()
    for use in (lambda: library.run(X, W), lambda: library.export(tmp_path / "adder.so")):
        with pytest.raises(QnnError, match="this library was closed"):
            use()
    run()  # the prepared run continues
    library.close()


# Timing


def test_timing_has_one_figure_for_each_run(library: Library) -> None:
    timing = library.benchmark(repeat=5, warmup=1)
    assert len(timing.seconds) == 5
    assert 0 < timing.minimum <= timing.median <= timing.maximum < 1
    assert len(library.benchmark(X, w=W, repeat=1, warmup=0).seconds) == 1


def test_timing_no_run_is_an_error(library: Library) -> None:
    with pytest.raises(QnnError, match="repeat must be at least 1, got 0"):
        library.benchmark(repeat=0)


# Files


def test_an_exported_library_loads_and_runs(exported: Path) -> None:
    loaded = tvm_qnn.load(exported)
    assert loaded.inputs == (TensorInfo("x", (2, 3), "int8"),)
    assert loaded.outputs == (TensorInfo("output0", (2, 3), "int8"),)
    assert str(loaded.target) == str(tvm_qnn.host_target())
    np.testing.assert_array_equal(loaded.run(X), X + W)
    assert loaded.benchmark(repeat=1).minimum > 0


@needs_linker
def test_signature_and_several_outputs_come_back(two_outputs: Library, tmp_path: Path) -> None:
    two_outputs.export(tmp_path / "two.so")
    loaded = tvm_qnn.load(tmp_path / "two.so")
    assert loaded.signature == two_outputs.signature
    assert list(loaded.run(np.zeros(4, np.int8))) == ["sum", "square"]


@needs_linker
def test_exporting_and_loading_print_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tvm_qnn.build(adder(), "host", {"w": W}).export(tmp_path / "quiet.so")
    tvm_qnn.load(tmp_path / "quiet.so").run(X)
    assert capfd.readouterr() == ("", "")


def test_building_and_running_in_one_process_needs_no_c_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    np.testing.assert_array_equal(tvm_qnn.build(adder(), "host").run(X, W), X + W)


@pytest.mark.parametrize("format", ["so", "tvm"])
@pytest.mark.parametrize("target", ["cortex-m55", "wasm32"])
def test_nothing_that_would_be_loaded_is_written_for_a_bare_target(
    target: str, format: str, tmp_path: Path
) -> None:
    path = tmp_path / "adder.so"
    with pytest.raises(QnnError, match=r"nothing loads libraries on .*: export it in format 'c'"):
        tvm_qnn.build(adder(), target).export(path, "cc", format=format)
    assert not path.exists()


def test_exporting_without_a_linker_says_what_to_install(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(QnnError, match=r"needs a linker.*apt install gcc.*pip install ziglang"):
        library.export(tmp_path / "adder.so")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_link_leaves_the_old_file_and_no_other(library: Library, tmp_path: Path) -> None:
    fake = tmp_path / "bad-cc"
    fake.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no room on the device')\n")
    fake.chmod(0o755)
    target = tmp_path / "adder.so"
    target.write_text("old")
    with pytest.raises(QnnError, match=r"linking with .*bad-cc failed: no room on the device"):
        library.export(target, cc=str(fake))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adder.so", "bad-cc"]
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/adder.so", "there is no folder"),
        ("adder.lib", r"must end in \.so"),
        ("folder.so", "it is a folder"),
    ],
)
def test_a_path_that_cannot_be_written_is_an_error(
    library: Library, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder.so").mkdir()
    with pytest.raises(QnnError, match=message):
        library.export(tmp_path / name)


def test_exporting_a_loaded_library_copies_its_file(exported: Path, tmp_path: Path) -> None:
    loaded = tvm_qnn.load(exported)
    loaded.export(tmp_path / "again.so")
    assert (tmp_path / "again.so").read_bytes() == exported.read_bytes()
    np.testing.assert_array_equal(tvm_qnn.load(tmp_path / "again.so").run(X), X + W)
    with pytest.raises(QnnError, match="a loaded library cannot be exported in format 'tvm'"):
        loaded.export(tmp_path / "again.so", format="tvm")


@needs_linker
def test_tvms_own_format_is_for_tvms_own_runtime(tmp_path: Path) -> None:
    path = tmp_path / "stock.so"
    tvm_qnn.build(adder(), "host", {"w": W}).export(path, format="tvm")
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())
    np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(X)).numpy(), X + W)
    with pytest.raises(QnnError, match="tvm-qnn did not make it"):
        tvm_qnn.load(path)


def test_there_are_no_other_formats(library: Library, tmp_path: Path) -> None:
    with pytest.raises(QnnError, match="in format 'so', 'tvm', 'c', got 'onnx'"):
        library.export(tmp_path / "adder.so", format="onnx")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(QnnError, match="no library at"):
        tvm_qnn.load(tmp_path / "adder.so")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.999])
def test_a_library_that_was_cut_short_is_an_error(
    exported: Path, tmp_path: Path, share: float
) -> None:
    contents = exported.read_bytes()
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(contents[: int(len(contents) * share)])
    with pytest.raises(QnnError, match=r"damaged\.so is not a library that can be loaded here"):
        tvm_qnn.load(damaged)


def test_other_files_are_errors(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("not a library at all, but a text that is longer than any header " * 10)
    with pytest.raises(QnnError, match=r"text\.so is not a library that can be loaded here"):
        tvm_qnn.load(text)
    with pytest.raises(QnnError, match=r"must end in \.so"):
        tvm_qnn.load(__file__)


@needs_linker
def test_foreign_shared_libraries_are_errors(tmp_path: Path) -> None:
    tvm.compile(adder(), "llvm").export_library(str(tmp_path / "plain.so"))
    with pytest.raises(QnnError, match="tvm-qnn did not make it"):
        tvm_qnn.load(tmp_path / "plain.so")

    (tmp_path / "empty.c").write_text("int nothing;\n")
    compiler = next(filter(None, map(shutil.which, COMPILERS)))
    line = [compiler, "-shared", "-o", "empty.so", "empty.c"]
    subprocess.run(line, cwd=tmp_path, check=True)
    with pytest.raises(QnnError, match="tvm-qnn did not make it"):
        tvm_qnn.load(tmp_path / "empty.so")


def test_another_process_loads_it_without_a_c_compiler(exported: Path) -> None:
    code = (
        "import sys, numpy, tvm_qnn\n"
        "print(tvm_qnn.load(sys.argv[1]).run(numpy.zeros((2, 3), 'int8')).tolist())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(exported)],
        cwd=ROOT,
        env={**os.environ, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == str(W.tolist())
    assert result.stderr == ""
