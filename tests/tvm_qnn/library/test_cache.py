import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import tvm_qnn
from qnn_ops.errors import LeftInFloatWarning
from tests.support.commands import said
from tests.support.disks import cut, flip
from tests.support.linking import needs_linker
from tests.support.modules import adder
from tests.support.processes import printed, printed_by_two
from tvm_qnn import digits
from tvm_qnn.cli import main
from tvm_qnn.io import kept
from tvm_qnn.io.kept import cache_folder
from tvm_qnn.library import cache as caches
from tvm_qnn.library.cache import BuildCache, build_key
from tvm_qnn.target.target import parse_target

X = np.arange(6, dtype=np.int8).reshape(2, 3)
W = np.full((2, 3), 10, np.int8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[tvm.IRModule]:
    """Record the builds that are compiled from now on, and not taken from a cache."""
    done: list[tvm.IRModule] = []
    # The package has a function of this name.
    module = importlib.import_module("tvm_qnn.build")
    compile_module = module.compile_module

    def count(mod: tvm.IRModule, *arguments: Any) -> Any:
        done.append(mod)
        return compile_module(mod, *arguments)

    monkeypatch.setattr(module, "compile_module", count)
    return done


def build(**changes: Any) -> tvm_qnn.Library:
    options: dict[str, Any] = {"target": "host", "params": {"w": W}, "cache": True}
    return tvm_qnn.build(adder(), **{**options, **changes})


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file())


@needs_linker
def test_the_same_build_is_compiled_once(folder: Path, compilations: list[tvm.IRModule]) -> None:
    first, second = build(), build(num_threads=1)
    assert len(compilations) == len(entries(folder)) == 1
    assert second.num_threads == 1
    assert first.metadata == second.metadata
    for library in (first, second):
        assert library.run(X).tolist() == (X + W).tolist()
    second.export(folder / "copy.so")
    assert tvm_qnn.load(folder / "copy.so").run(X).tolist() == (X + W).tolist()


@needs_linker
def test_a_library_from_the_cache_warns_as_its_build_did(folder: Path) -> None:
    mod = adder()
    marks = {"arithmetic": "xnnpack", "left_in_float": ["a reason"]}
    mod["main"] = mod["main"].with_attrs(marks)
    for _ in range(2):
        with pytest.warns(LeftInFloatWarning, match="computed in float32: a reason") as caught:
            tvm_qnn.build(mod, "llvm", {"w": W})
        assert len(caught) == 1


@needs_linker
def test_what_comes_from_the_cache_is_exported_in_any_form(folder: Path, tmp_path: Path) -> None:
    with tvm.transform.PassContext(disabled_pass=["FuseOps"]):
        libraries = [build(), build(), build(cache=False)]
    texts = []
    for number, library in enumerate(libraries):
        place = tmp_path / str(number)
        place.mkdir()
        library.export(place / "m", format="c")
        texts.append({path.name: path.read_bytes() for path in place.iterdir()})
        library.export(place / "m.so", format="tvm")
        machine = relax.VirtualMachine(tvm.runtime.load_module(str(place / "m.so")), tvm.cpu())
        assert machine["main"](tvm.runtime.tensor(X)).numpy().tolist() == (X + W).tolist()
    assert texts[0] == texts[1] == texts[2]
    assert len(entries(folder)) == 1


@needs_linker
@pytest.mark.parametrize(
    "changes", [{"params": {"w": W + 1}}, {"params": {}}, {"target": "llvm"}, {"kernels": False}]
)
def test_another_build_is_compiled_anew(
    folder: Path, compilations: list[tvm.IRModule], changes: dict[str, Any]
) -> None:
    build()
    build(**changes)
    assert len(compilations) == len(entries(folder)) == 2


def key(mod: tvm.IRModule | None = None, **options: Any) -> str:
    return build_key(mod or adder(), {"w": W}, parse_target("host"), options)


def test_a_key_changes_with_all_that_decides_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key(), key(adder((3, 2))), key(kernels=True)]
    with tvm.transform.PassContext(opt_level=3):
        keys.append(key())
    with tvm.transform.PassContext(disabled_pass=["FoldConstant"]):
        keys.append(key())
    monkeypatch.setattr(caches, "sources_digest", lambda *_: "changed")
    keys.append(key())
    monkeypatch.setattr(caches, "compiler_versions", lambda: {"llvm": "1"})
    keys.append(key())
    assert len(set(keys)) == len(keys)
    assert key() == keys[-1]


def test_a_key_has_parameters_that_numpy_alone_does_not_know() -> None:
    weights = [W.astype("bfloat16"), (W + 1).astype("bfloat16")]
    keys = {build_key(adder(), {"w": each}, parse_target("host"), {}) for each in weights}
    assert len(keys) == len(weights)


@pytest.mark.parametrize("name", ["legalize", "tvm_qnn.build", "tvm_qnn.target.codegen"])
def test_what_compiles_is_among_the_sources_of_a_key(name: str) -> None:
    file = Path(importlib.import_module(name).__file__ or "")
    assert any(folder in file.parents for folder in caches._SOURCES)


def test_a_key_is_the_same_in_another_process() -> None:
    code = "import numpy as np\nfrom tests.tvm_qnn.library.test_cache import key\nprint(key())"
    assert printed(code, PYTHONHASHSEED="1").strip() == key()  # here it is another seed


def _swap(path: Path) -> None:
    """Replace it by another whole build."""
    build(params={"w": W + 1})
    (other,) = (entry for entry in entries(path.parent) if entry != path)
    other.replace(path)


@needs_linker
@pytest.mark.parametrize("damage", [flip, cut, _swap])
def test_an_entry_that_is_damaged_is_built_again(
    folder: Path, compilations: list[tvm.IRModule], damage: Callable[[Path], None]
) -> None:
    build()
    damage(entries(folder)[0])
    compilations.clear()
    assert build().run(X).tolist() == (X + W).tolist()
    assert len(compilations) == 1
    build()
    assert len(compilations) == 1


@needs_linker
def test_what_was_not_used_longest_makes_room(folder: Path) -> None:
    libraries = [build(params={"w": W + i}) for i in range(3)]
    size = max(path.stat().st_size for path in entries(folder))
    paths = [folder / f"{library.metadata.key}.so" for library in libraries]
    for age, path in enumerate(paths):
        os.utime(path, (1000 - age, 1000 - age))
    own = folder / "libmine.so"  # the user's, older than all entries
    own.write_bytes(bytes(2 * size))
    os.utime(own, (1, 1))
    small = BuildCache(folder)
    small.limit = 3 * size
    assert small.find(libraries[2].metadata.key) is not None  # the oldest, used just now
    new = "0" * len(libraries[0].metadata.key)
    assert small.keep(new, libraries[0].metadata, libraries[0]._open())
    assert set(entries(folder)) == {own, paths[2], paths[0], folder / f"{new}.so"}
    assert libraries[1].run(X).tolist() == (X + W + 1).tolist()  # its file is gone


def test_the_environment_turns_it_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[tvm.IRModule]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(kept.VARIABLE, "0")
    build()
    build()
    assert len(compilations) == 2
    assert entries(tmp_path) == []
    assert cache_folder() is None


def test_the_folder_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kept.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tvm-qnn"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # is to be ignored, says its specification
    assert cache_folder() == Path.home() / ".cache" / "tvm-qnn"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "tvm-qnn"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == Path.home() / "Library" / "Caches" / "tvm-qnn"


@needs_linker
def test_builds_are_kept_unless_told_otherwise(folder: Path) -> None:
    build(cache=False)
    assert entries(folder) == []
    tvm_qnn.build(adder(), params={"w": W})
    assert len(entries(folder)) == 1


def test_a_failed_folder_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "file" / "cache"))
    assert build().run(X).tolist() == (X + W).tolist()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
@pytest.mark.parametrize(
    ("mode", "place", "reason"),
    [(0o770, "", "can be written to by others"), (0o777, "..", "can be written to by others")],
)
def test_a_folder_that_others_may_write_to_is_not_used(
    folder: Path, mode: int, place: str, reason: str, compilations: list[tvm.IRModule]
) -> None:
    folder.mkdir(mode=0o700)
    (folder / place).chmod(mode)
    with pytest.warns(UserWarning, match=f"the cache is not used: {folder.parent}.* {reason}"):
        build()
    assert entries(folder) == []
    with pytest.warns(UserWarning, match="the cache is not used"):
        build()
    assert len(compilations) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_a_folder_of_others_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    if os.getuid():
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    else:  # root's folders are safe for everybody
        os.chown(folder, 1, -1)
    assert kept.stranger_of(folder) == f"{folder} belongs to another user"


def test_a_user_whom_the_system_does_not_know_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (kept.VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert cache_folder() is None
    assert build().run(X).tolist() == (X + W).tolist()


def test_without_a_linker_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    find = importlib.util.find_spec
    is_found = lambda name: None if name == "ziglang" else find(name)  # noqa: E731
    monkeypatch.setattr("importlib.util.find_spec", is_found)
    assert build().run(X).tolist() == (X + W).tolist()
    assert entries(folder) == []


def test_instruments_see_the_passes(folder: Path, compilations: list[tvm.IRModule]) -> None:
    timing = tvm.ir.instrument.PassTimingInstrument()
    for _ in range(2):
        with tvm.transform.PassContext(instruments=[timing]):
            build()
    assert len(compilations) == 2
    assert entries(folder) == []


@needs_linker
def test_processes_share_a_cache(folder: Path) -> None:
    code = (
        "import os, tests; "  # which switches the cache off
        f"os.environ['TVM_QNN_CACHE'] = {os.environ[kept.VARIABLE]!r}; "
        "from tests.tvm_qnn.library.test_cache import X, build; print(build().run(X).tolist())"
    )
    assert printed_by_two(code) == [f"{(X + W).tolist()}\n"] * 2
    assert len(entries(folder)) == 1


@needs_linker
def test_the_command_compiles_a_model_once(
    folder: Path, tmp_path: Path, compilations: list[tvm.IRModule]
) -> None:
    model, output = tmp_path / "digits.tflite", tmp_path / "digits.so"
    model.write_bytes(digits.model("int8"))
    for options, total in ([], 1), ([], 1), (["--no-cache"], 2):
        arguments = ["compile", str(model), "-o", str(output), *options]
        said(main, arguments, catch_exceptions=False)
        assert len(compilations) == total
        assert tvm_qnn.load(output).inputs[0].shape == (1, 8, 8, 1)
    assert len(entries(folder)) == 1
