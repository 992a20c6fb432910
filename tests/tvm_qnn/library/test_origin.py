"""One library for several processors: its contents, and the choice of a variant."""

import importlib
import pickle
import platform
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import tvm_qnn
from qnn_ops.dialect.tensor_info import Signature
from qnn_ops.errors import QnnError
from tests.support.linking import needs_linker
from tests.support.modules import adder
from tvm_qnn import Library
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.origin import best_variant, with_others
from tvm_qnn.library.package import read_package
from tvm_qnn.target.processor import Requirements, extensions_here, this_platform

W = np.arange(6000, dtype=np.int8).reshape(2, 3000)  # large enough to stand outside the bytecode
X = np.ones((2, 3000), np.int8)
TARGETS = ["x86-sse4.1", "x86-avx2", "x86-avx512-vnni"]
CPUS = ["nehalem", "haswell", "cascadelake"]

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="this is another architecture")


def limited(monkeypatch: pytest.MonkeyPatch, *lacking: str) -> None:
    """Let this processor lack some extensions."""
    monkeypatch.setattr(
        "tvm_qnn.target.processor.extensions_here",
        lambda asked: extensions_here(asked) - {*lacking},
    )


@pytest.fixture(scope="module")
def library() -> Library:
    return tvm_qnn.build(adder((2, 3000)), TARGETS, {"w": W})


@pytest.fixture(scope="module")
def file(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fleet") / "adder.so"
    library.export(path)
    return path


def cpu_of(library: Library) -> str:
    return str(library.target.attrs["mcpu"])


@on_x86
@needs_linker
@pytest.mark.parametrize(
    ("lacking", "expected"), [((), 2), (("avx512vnni",), 1), (("avx512vnni", "avx2"), 0)]
)
def test_the_best_that_this_processor_runs_is_taken(
    file: Path, monkeypatch: pytest.MonkeyPatch, lacking: tuple[str, ...], expected: int
) -> None:
    if best_variant([each.metadata for each in read_package(file).variants]) != 2:
        pytest.skip("this processor lacks AVX512-VNNI")
    limited(monkeypatch, *lacking)
    loaded = tvm_qnn.load(file)
    assert cpu_of(loaded) == CPUS[expected]
    others = [each.target.attrs["mcpu"] for each in loaded.metadata.others]
    assert others == CPUS[:expected] + CPUS[expected + 1 :]
    np.testing.assert_array_equal(loaded.run(X), X + W)
    again = pickle.loads(pickle.dumps(loaded))
    assert again.metadata == loaded.metadata


@on_x86
@needs_linker
def test_where_none_runs_each_reason_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, "sse4.1", "avx2", "avx512vnni")
    message = r"none of its 3 variants: .*with sse4\.1, which.*; .*avx2, sse4.1, which.*; .*vnni"
    with pytest.raises(QnnError, match=message):
        tvm_qnn.load(file)


@on_x86
@needs_linker
def test_weights_of_several_variants_are_there_once(library: Library, file: Path) -> None:
    package = read_package(file)
    assert len(package.variants) == 3
    addresses = {
        array.__array_interface__["data"][0]
        for variant in package.variants
        for array in variant.constants
    }
    assert len(addresses) == 1
    assert file.read_bytes().count(W.tobytes()) == 1
    assert library.metadata.signature == package.variants[0].metadata.signature


@on_x86
@needs_linker
def test_it_runs_before_it_is_a_file_and_is_written_the_same_again(
    library: Library, file: Path, tmp_path: Path
) -> None:
    if library.metadata.why_not_here() is None:
        np.testing.assert_array_equal(library.run(X), X + W)
    library.export(tmp_path / "again.so")
    assert (tmp_path / "again.so").read_bytes() == file.read_bytes()
    with pytest.raises(QnnError, match="in format 'c', nor one for several targets"):
        library.export(tmp_path / "m", format="c")


@on_x86
@needs_linker
def test_variants_come_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_QNN_CACHE", str(tmp_path / "cache"))

    def fail(*_arguments: object) -> NoReturn:
        pytest.fail("it was compiled again")

    tvm_qnn.build(adder((2, 3000)), TARGETS, {"w": W}, cache=True)
    assert len([*(tmp_path / "cache").glob("*.so")]) == 3
    monkeypatch.setattr(importlib.import_module("tvm_qnn.build"), "_compile", fail)
    tvm_qnn.build(adder((2, 3000)), TARGETS, {"w": W}, cache=True).export(tmp_path / "adder.so")
    assert len(read_package(tmp_path / "adder.so").variants) == 3


def test_targets_that_do_not_fit_together_are_errors() -> None:
    with pytest.raises(QnnError, match="the targets of a library are of one architecture"):
        tvm_qnn.build(adder(), ["x86-avx2", "aarch64"])


def metadata(*extensions: str) -> Metadata:
    needs = Requirements(this_platform(), extensions)
    return Metadata(Signature((), ()), "{}", needs, {}, "")


def test_of_equally_good_ones_the_first_is_taken() -> None:
    none, other = metadata(), replace(metadata(), digest="other")
    absent = metadata("avx4096")
    assert best_variant([absent, none, other]) == 1
    assert best_variant([absent, absent]) == 0
    assert with_others([absent, none, other], 1) == replace(none, others=(absent, other))
    assert Metadata.from_fields(with_others([none, other], 1).to_fields()) == other
