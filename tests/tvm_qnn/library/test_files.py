import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax

import tvm_qnn
from qnn_ops.dialect.signature import TensorInfo
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.linking import need_linker, needs_linker
from tests.support.modules import adder
from tests.support.processes import printed
from tvm_qnn.library.library import Library
from tvm_qnn.target.linker import COMPILERS

X = np.arange(6, dtype=np.int8).reshape(2, 3)
W = np.full((2, 3), 10, np.int8)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_linker()
    path = tmp_path_factory.mktemp("exported") / "adder.so"
    tvm_qnn.build(adder(), "host", {"w": W}).export(path)
    return path


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
def test_export_and_load_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tvm_qnn.build(adder(), "host", {"w": W}).export(tmp_path / "quiet.so")
    tvm_qnn.load(tmp_path / "quiet.so").run(X)
    assert capfd.readouterr() == ("", "")


def test_building_and_running_needs_no_c_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    np.testing.assert_array_equal(tvm_qnn.build(adder(), "host").run(X, W), X + W)


@pytest.mark.parametrize("format", ["so", "tvm"])
@pytest.mark.parametrize("target", ["cortex-m55", "wasm32"])
def test_no_library_is_written_for_a_bare_target(target: str, format: str, tmp_path: Path) -> None:
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
def test_wrong_paths_are_errors(library: Library, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.so").mkdir()
    fails(message, library.export, tmp_path / name)


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
    fails("tvm-qnn did not make it", tvm_qnn.load, path)


def test_there_are_no_other_formats(library: Library, tmp_path: Path) -> None:
    with pytest.raises(QnnError, match="in format 'so', 'tvm', 'c', got 'onnx'"):
        library.export(tmp_path / "adder.so", format="onnx")


def test_other_files_are_errors(tmp_path: Path) -> None:
    fails("no library at", tvm_qnn.load, tmp_path / "adder.so")
    text = tmp_path / "text.so"
    text.write_text("not a library at all, but a text that is longer than any header " * 10)
    fails(r"text\.so is not a library that can be loaded here", tvm_qnn.load, text)
    fails(r"must end in \.so", tvm_qnn.load, __file__)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.999])
def test_a_library_cut_short_is_an_error(exported: Path, tmp_path: Path, share: float) -> None:
    contents = exported.read_bytes()
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(contents[: int(len(contents) * share)])
    fails(r"damaged\.so is not a library that can be loaded here", tvm_qnn.load, damaged)


@needs_linker
def test_foreign_shared_libraries_are_errors(tmp_path: Path) -> None:
    tvm.compile(adder(), "llvm").export_library(str(tmp_path / "plain.so"))
    fails("tvm-qnn did not make it", tvm_qnn.load, tmp_path / "plain.so")

    (tmp_path / "empty.c").write_text("int nothing;\n")
    compiler = next(filter(None, map(shutil.which, COMPILERS)))
    line = [compiler, "-shared", "-o", "empty.so", "empty.c"]
    subprocess.run(line, cwd=tmp_path, check=True)
    fails("tvm-qnn did not make it", tvm_qnn.load, tmp_path / "empty.so")


def test_another_process_loads_it_without_a_c_compiler(exported: Path) -> None:
    code = (
        "import sys, numpy, tvm_qnn\n"
        "print(tvm_qnn.load(sys.argv[1]).run(numpy.zeros((2, 3), 'int8')).tolist())"
    )
    assert printed(code, str(exported), quiet=True, PATH="").strip() == str(W.tolist())
