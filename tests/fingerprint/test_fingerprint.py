import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from click.testing import CliRunner
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from qnn_ops.errors import QnnError
from tests.fingerprint import fingerprint
from tests.fingerprint.__main__ import main
from tests.fingerprint.fingerprint import WAYS, compare, hash_model, matching, take
from tests.fingerprint.hashes import module_hashes
from tests.fingerprint.models import models
from tests.support.commands import refused
from tvm_qnn.target.target import NAMES

MODEL = "digits/int8"


def calling(*names: str, step: int = 1, last: int = 0, spelling: str = "x") -> tvm.IRModule:
    """A main that calls functions on a constant; "add" adds ``step``, "less" subtracts it."""

    @T.prim_func
    def add(a: T.Buffer((4,), "int32"), b: T.Buffer((4,), "int32")) -> None:
        for i in range(4):
            b[i] = a[i] + step

    @T.prim_func
    def less(a: T.Buffer((4,), "int32"), b: T.Buffer((4,), "int32")) -> None:
        for i in range(4):
            b[i] = a[i] - step

    builder = relax.BlockBuilder()
    with builder.function("main", []):
        functions = {"add": builder.add_func(add, "add"), "less": builder.add_func(less, "less")}
        value = relax.const(np.array([1, 2, 3, last], "int32"))
        for number, name in enumerate(names):
            kind = relax.TensorType((4,), "int32")
            call = relax.call_tir(functions[name], [value], kind)
            value = builder.emit(call, f"{spelling}{number}")
        builder.emit_func_output(value)
    return builder.get()


def differing(one: tvm.IRModule, other: tvm.IRModule) -> set[str]:
    left, right = module_hashes(one, "at"), module_hashes(other, "at")
    return {part for part in {*left, *right} if left.get(part) != right.get(part)}


def test_a_module_has_a_hash_for_each_function_and_constant() -> None:
    hashes = module_hashes(calling("add"), "at")
    assert [*hashes] == [
        "at function add",
        "at function less",
        "at function main",
        "at main's constant 0",
    ]


def test_a_changed_function_changes_its_hash_alone() -> None:
    assert differing(calling("add"), calling("add", step=2)) == {
        "at function add",
        "at function less",
    }


def test_one_byte_of_a_constant_changes_its_hash_alone() -> None:
    assert differing(calling("add"), calling("add", last=1)) == {"at main's constant 0"}


def test_other_calls_change_the_hash_of_main() -> None:
    assert differing(calling("add", "less"), calling("less", "add")) == {"at function main"}
    pair = calling("add", "less", "add"), calling("add", "less", "less")
    assert differing(*pair) == {"at function main"}


def test_names_of_variables_do_not_count() -> None:
    assert not differing(calling("add"), calling("add", spelling="y"))


def test_places_in_source_files_do_not_count() -> None:
    @I.ir_module
    class Here:
        @R.function
        def main(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            return x

    @I.ir_module
    class There:
        @R.function
        def main(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            return x

    assert not differing(Here, There)


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file that another process has written, whose sets have another order."""
    file = tmp_path_factory.mktemp("fingerprint") / "new" / "taken.json"
    words = [sys.executable, "-m", "tests.fingerprint", "take", str(file), "--models", MODEL]
    targets = ["--targets", "x86-avx2", "--targets", "arm*"]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    root = Path(__file__).parents[2]
    subprocess.run([*words, *targets], check=True, cwd=root, env=environment, capture_output=True)
    return file


def test_two_processes_take_the_same_fingerprint(taken: Path) -> None:
    found = json.loads(taken.read_text())
    assert found == dict(take({MODEL: ["x86-avx2", "armv7-neon"]}))
    assert [*found[MODEL]] == ["x86-avx2", "armv7-neon"]
    both = found[MODEL].values()
    assert all("ready function model" in hashes for hashes in both)
    assert len({json.dumps(hashes) for hashes in both}) == 2


def test_the_command_compares_with_the_sources_as_they_are(taken: Path, tmp_path: Path) -> None:
    words = ["compare", str(taken), "--targets", "x86*"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, result.stdout) == (0, "1 cases are equal, 0 differ\n")
    old = json.loads(taken.read_text())
    part = "lowered main's constant 0"
    old[MODEL]["x86-avx2"][part] = "int8 (3,) 00"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(old))
    result = CliRunner().invoke(main, ["compare", str(changed), *words[2:]])
    assert result.exit_code == 1
    assert f"{MODEL} for x86-avx2: {part}: int8 (3,) 00 became int16" in result.stdout


def test_the_command_compares_two_files(taken: Path, tmp_path: Path) -> None:
    old = json.loads(taken.read_text())
    del old[MODEL]["armv7-neon"]
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps(old))
    result = CliRunner().invoke(main, ["compare", str(fewer), str(taken)])
    assert result.exit_code == 1
    assert f"{MODEL} for armv7-neon: only in the new one" in result.stdout
    assert "1 cases are equal, 1 differ" in result.stdout
    assert CliRunner().invoke(main, ["compare", str(taken), str(taken)]).exit_code == 0


def test_what_is_not_there_is_an_error(taken: Path, tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    for words in (["take", str(file)], ["compare", str(taken)]):
        assert "no such model or target" in refused(main, [*words, "--models", "nothing"])
    assert not file.exists()


def test_the_first_difference_is_named_for_all_of_its_targets() -> None:
    old: Any = {"m": {way: {"a": "1", "b": "2", "c": "3"} for way in ("x", "y", "z")}}
    new: Any = {"m": {way: {"a": "1", "b": "4", "d": "3"} for way in ("x", "y")}}
    new["m"]["z"] = old["m"]["z"]
    comparison = compare(old, new)
    assert comparison.equal == 1
    assert comparison.grouped == {("m", "b: 2 became 4"): ["x", "y"]}
    assert compare({"m": {"x": {}}}, {"m": {"x": {"a": "1"}}}).differing == (
        ("m", "x", "a: only in the new one"),
    )


def test_what_is_refused_has_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> tvm.IRModule:
        raise QnnError("not this one\nin line 7")

    monkeypatch.setattr(fingerprint, "models", lambda: {"m": refuse})
    assert hash_model("m", ["x86-amx"]) == {"x86-amx": {"import": "QnnError: not this one"}}


def test_all_targets_and_the_primitives_are_ways() -> None:
    assert {*NAMES, "primitives"} == {*WAYS}
    assert matching(["x86-amx", "aarch64"], ["x*", "a?"]) == ["x86-amx"]


def test_models_of_every_kind_are_there() -> None:
    kinds = {name.split("/")[0] for name in models()}
    assert {"zoo", "digits", "fixtures", "random"} <= kinds
    assert "zoo/mobilenet_v1:uint8" in models()
    assert "main" in [variable.name_hint for variable in models()["random/00"]().functions]


def test_models_of_the_shared_folder_are_there(shared: Path) -> None:
    assert {"tflite/kws_i8", "mxnet/tiny/residual-sg-auto"} <= {*models()}
    assert "main" in [
        variable.name_hint for variable in models()["mxnet/tiny/residual-sg-auto"]().functions
    ]
