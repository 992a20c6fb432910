import errno
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

import tvm_qnn
from legalize.kernels.border import Border, tell_border
from legalize.passes import bodies
from legalize.passes.bodies import called
from tests.support.disks import cut, flip
from tests.support.linking import needs_linker
from tests.support.modules import module
from tests.support.processes import printed, printed_by_two
from tvm_qnn.io import kept
from tvm_qnn.library import runtime
from tvm_qnn.target import codegen
from tvm_qnn.target import store as stores
from tvm_qnn.target.ahead import Objects
from tvm_qnn.target.codegen import Compiled, compile_module
from tvm_qnn.target.store import ObjectStore, function_key, object_store
from tvm_qnn.target.target import host_target

X = np.arange(4, dtype=np.int8)
KEY = "0" * 2 * kept.DIGEST_SIZE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "cache"))
    stores._warn.cache_clear()
    return tmp_path / "cache" / stores.FOLDER


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[tvm.IRModule]:
    """Record the functions that LLVM compiles from now on."""
    done: list[tvm.IRModule] = []
    parts = importlib.import_module("tvm_qnn.target.parts")
    build = tirx.build

    def count(mod: tvm.IRModule, **options: Any) -> Any:
        done.append(mod)
        return build(mod, **options)

    monkeypatch.setattr(parts.tirx, "build", count)
    return done


def adders(count: int, addend: int = 1) -> tvm.IRModule:
    """So many inputs of different sizes, the same added to each."""
    inputs = {f"x{i}": relax.TensorType((i + 1,), "int8") for i in range(count)}
    number = relax.const(addend, "int8")
    return module(inputs, lambda *xs: [relax.op.add(x, number) for x in xs])


def compiled(mod: tvm.IRModule, store: ObjectStore | None) -> Compiled:
    # TVM's own pipeline: ours makes one function of a small model.
    pipeline = relax.get_default_pipeline(host_target())
    if store is None:
        return compile_module(mod, host_target(), pipeline)
    with Objects(host_target(), store) as objects:
        return compile_module(mod, host_target(), pipeline, objects)


def results(code: Compiled, count: int) -> list[list[int]]:
    program = runtime.Program(code.bytecode, code.runnable(), code.constants, None)
    arrays = [np.full(i + 1, i, np.int8) for i in range(count)]
    return [array.tolist() for array in program(*map(runtime.tensor, arrays))]


def build() -> tvm_qnn.Library:
    mod = module({"x": relax.TensorType((4,), "int8")}, lambda x: relax.op.add(x, x))
    return tvm_qnn.build(mod, "host", cache=False)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file())


@needs_linker
def test_a_function_is_compiled_once(folder: Path, compilations: list[tvm.IRModule]) -> None:
    store = ObjectStore(folder)
    wanted = results(compiled(adders(4), None), 4)
    compilations.clear()
    cold = compiled(adders(3), store)
    assert len(compilations) == len(entries(folder)) == 3
    more = compiled(adders(4), store)
    assert len(compilations) == len(entries(folder)) == 4
    assert more.objects is not None
    assert cold.objects == more.objects[:3]
    assert results(more, 4) == wanted
    assert len(compilations) == 4


@needs_linker
def test_a_build_and_its_export_take_what_is_there(
    folder: Path, tmp_path: Path, compilations: list[tvm.IRModule]
) -> None:
    files = [tmp_path / "cold.so", tmp_path / "warm.so"]
    for file in files:
        library = build()
        library.export(file)
        assert library.run(X).tolist() == (2 * X).tolist()
        assert tvm_qnn.load(file).run(X).tolist() == (2 * X).tolist()
    assert len(compilations) == len(entries(folder)) == 1
    assert files[0].read_bytes() == files[1].read_bytes()


def function(name: str = "f", variable: str = "x", **changes: Any) -> tirx.PrimFunc:
    fields = {"size": 4, "dtype": "int8", "number": 3, "second": False, **changes}
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name(name)
        T.func_attr({"global_symbol": name})
        arguments = [
            T.arg(f"{variable}{i}", T.buffer((fields["size"],), fields["dtype"])) for i in range(3)
        ]
        number = tirx.const(fields["number"], fields["dtype"])
        read = arguments[1 if fields["second"] else 0]
        T.buffer_store(arguments[2], read[0] + number, [0])
    return builder.get()


def key(
    target: tvm.target.Target | None = None, passes: str = "", names: bool = False, **changes: Any
) -> str:
    made = function(**changes)
    mod = tvm.IRModule({str(made.attrs["global_symbol"]): made})
    return function_key(mod, target or host_target(), passes, names)


def test_a_key_changes_with_all_that_decides_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [
        key(),
        key(name="g"),
        key(size=5),
        key(dtype="uint8"),
        key(number=4),
        key(second=True),
        key(target=tvm.target.Target("llvm")),
        key(passes="without one"),
        key(names=True),
        key(names=True, variable="y"),
    ]
    monkeypatch.setattr(stores, "sources_digest", lambda *_folders: "changed")
    keys.append(key())
    monkeypatch.setattr("tvm_qnn.target.store.codegen.llvm_version_major", lambda: 1)
    keys.append(key())
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("source", [bodies, codegen])
def test_what_compiles_is_among_the_sources_of_a_key(source: ModuleType) -> None:
    file = Path(source.__file__ or "")
    assert any(folder in file.parents for folder in stores._SOURCES)


def test_keys_are_those_of_code_in_any_process() -> None:
    keys = set()
    for border in (
        None,
        *(Border((1, 1, 1, 1), value) for value in (9, 10)),
        Border((0, 3, 0, 3), 9),
    ):
        named = called(tell_border(function(), border), [])
        keys.add(function_key(tvm.IRModule({"f": named}), host_target(), "", False))
    assert len(keys) == 1
    assert key() == key(variable="y")
    assert key(names=True) != key(names=True, variable="y")
    code = "from tests.tvm_qnn.target.test_store import key\nprint(key())"
    assert printed(code, PYTHONHASHSEED="1").strip() == key()


@pytest.mark.parametrize("changes", [{"number": 4}, {"size": 5}, {"second": True}])
def test_a_key_does_not_rest_on_a_hash_of_64_bits(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setattr("legalize.loop_functions.tvm_ffi.structural_hash", lambda _function: 0)
    assert key() != key(**changes)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _swap(path: Path) -> None:
    """Replace it by another function's whole entry."""
    ObjectStore(path.parent).keep({KEY: b"code"})
    path.with_name(f"{KEY}.o").replace(path)


@needs_linker
@pytest.mark.parametrize("damage", [flip, cut, _empty, _swap])
def test_an_entry_that_is_damaged_is_compiled_again(
    folder: Path, compilations: list[tvm.IRModule], damage: Callable[[Path], None]
) -> None:
    build()
    whole = entries(folder)[0].read_bytes()
    damage(entries(folder)[0])
    assert build().run(X).tolist() == (2 * X).tolist()
    assert len(compilations) == 2
    assert [path.read_bytes() for path in entries(folder)] == [whole]


def test_what_was_not_used_longest_makes_room(folder: Path) -> None:
    store = ObjectStore(folder)
    store.limit = 400
    keys = [f"{i}{KEY[1:]}" for i in range(4)]
    store.keep(dict.fromkeys(keys[:3], bytes(100)))
    for age, each in enumerate(keys[:3]):
        os.utime(folder / f"{each}.o", (1000 - age, 1000 - age))
    assert store.find(keys[2]) == bytes(100)  # the oldest, used just now
    store.keep({keys[3]: bytes(100)})
    assert [path.stem for path in entries(folder)] == [keys[0], keys[2], keys[3]]


@needs_linker
def test_a_full_disk_is_told_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stores, "replacing", full)
    for _ in range(2):
        assert build().run(X).tolist() == (2 * X).tolist()
    told = [str(each.message) for each in recwarn if "not kept" in str(each.message)]
    assert len(told) == 1
    assert "No space left" in told[0]
    assert entries(folder) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
@needs_linker
def test_a_folder_of_others_is_not_used(folder: Path, compilations: list[tvm.IRModule]) -> None:
    build()
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="the cache is not used: .* can be written to by others"):
        assert build().run(X).tolist() == (2 * X).tolist()
    assert len(compilations) == 2


def test_no_store_where_it_has_no_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert object_store(host_target()) is not None
    with tvm.transform.PassContext(instruments=[tvm.ir.instrument.PassTimingInstrument()]):
        assert object_store(host_target()) is None
    with monkeypatch.context() as patch:
        patch.setenv(kept.VARIABLE, "0")
        assert object_store(host_target()) is None
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert object_store(host_target()) is None
    assert build().run(X).tolist() == (2 * X).tolist()
    assert entries(folder) == []


@needs_linker
def test_what_cannot_be_loaded_is_compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = compiled(adders(2), ObjectStore(folder))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert results(code, 2) == [[1], [2, 2]]


@needs_linker
def test_processes_share_a_store(folder: Path) -> None:
    code = (
        "import os, tests; "  # which switches the cache off
        f"os.environ['TVM_QNN_CACHE'] = {os.environ[kept.VARIABLE]!r}; "
        "from tests.tvm_qnn.target.test_store import X, build; print(build().run(X).tolist())"
    )
    assert printed_by_two(code) == [f"{(2 * X).tolist()}\n"] * 2
    assert len(entries(folder)) == 1
