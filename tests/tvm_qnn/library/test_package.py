"""Damaged, foreign and unfit files: each is refused before any of its code is loaded."""

import hashlib
import mmap
import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

import tvm_qnn
from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.linking import need_linker
from tests.support.modules import adder, module
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.package import read_package, write_package
from tvm_qnn.target.processor import Requirements

W = np.arange(6000, dtype=np.int8).reshape(2, 3000)  # large enough to stand outside the bytecode
END = 56  # bytes


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_linker()
    path = tmp_path_factory.mktemp("package") / "adder.so"
    tvm_qnn.build(adder((2, 3000)), "host", {"w": W}).export(path)
    return path


@pytest.fixture
def no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading code fails the test."""

    def fail(*_arguments: Any, **_options: Any) -> NoReturn:
        pytest.fail("the file's code was loaded")

    monkeypatch.setattr("tvm_ffi.load_module", fail)


def refused(path: Path, contents: bytes) -> str:
    """Return the error for such a file."""
    path.write_bytes(contents)
    with pytest.raises(QnnError, match="is not a library that can be loaded here") as raised:
        tvm_qnn.load(path)
    return str(raised.value)


def test_a_whole_file_is_read(file: Path) -> None:
    package = read_package(file)
    (variant,) = package.variants
    (constant,) = variant.constants
    np.testing.assert_array_equal(constant, W)
    assert constant.__array_interface__["data"][0] % 64 == 0
    assert isinstance(package.memory, mmap.mmap)
    x = np.ones((2, 3000), np.int8)
    np.testing.assert_array_equal(tvm_qnn.load(file).run(x), x + W)


@pytest.mark.usefixtures("no_code")
def test_any_flipped_bit_is_seen(file: Path, tmp_path: Path) -> None:
    contents = file.read_bytes()
    size = len(contents)
    # Everywhere at a distance; every byte of the ELF header and of the end.
    places = {*range(0, size, 509), *range(64), *range(size - END, size)}
    for place in sorted(places):
        damaged = bytearray(contents)
        damaged[place] ^= 1 << place % 8
        refused(tmp_path / "damaged.so", bytes(damaged))


@pytest.mark.usefixtures("no_code")
def test_a_file_cut_short_anywhere_is_seen(file: Path, tmp_path: Path) -> None:
    contents = file.read_bytes()
    size = len(contents)
    for length in {0, 1, END - 1, END, *range(64, size, 1009), size - END, size - 1}:
        refused(tmp_path / "short.so", contents[:length])
    refused(tmp_path / "long.so", contents + b"\0")
    refused(tmp_path / "doubled.so", contents + contents[-END:])


@pytest.mark.usefixtures("no_code")
def test_tables_of_the_library_that_are_wiped_out_are_seen(file: Path, tmp_path: Path) -> None:
    contents = file.read_bytes()
    programs, sections = struct.unpack_from("<QQ", contents, 32)
    for start in (programs, sections):
        for filler in (b"\0", b"\xff"):
            wiped = contents[:start] + filler * 256 + contents[start + 256 :]
            assert "digest" in refused(tmp_path / "wiped.so", wiped)


@pytest.mark.usefixtures("no_code")
@settings(max_examples=50)
@given(contents=st.binary(max_size=200))
def test_other_bytes_are_no_library(
    tmp_path_factory: pytest.TempPathFactory, contents: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "other.so"
    assert "tvm-qnn did not make it" in refused(path, contents)
    assert "tvm-qnn did not make it" in refused(path, b"\x7fELF\x02\x01" + contents)


def rewritten(file: Path, path: Path, **changes: Any) -> None:
    """Return a whole library with other metadata."""
    (variant,) = read_package(file).variants
    metadata = replace(variant.metadata, **changes)
    write_package(
        path, [replace(variant, metadata=metadata, link=lambda part: shutil.copy(file, part))]
    )


@pytest.mark.usefixtures("no_code")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"requirements": Requirements("x86_64-linux-gnu", ("avx4096",))},
            "needs a processor with avx4096, which this one lacks",
        ),
        ({"requirements": Requirements("sparc-sun-solaris", ())}, "it is for sparc-sun-solaris"),
        ({"versions": {"tvm": "0.99", "tvm-ffi": "0.1"}}, r"made with tvm 0\.99, here is "),
    ],
)
def test_what_cannot_run_here_is_refused(
    file: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    rewritten(file, tmp_path / "unfit.so", **changes)
    fails(message, tvm_qnn.load, tmp_path / "unfit.so")


def test_metadata_comes_back(file: Path, tmp_path: Path) -> None:
    metadata = read_package(file).variants[0].metadata
    assert metadata.requirements.platform
    assert metadata.versions.keys() == {"tvm", "tvm-ffi", "tvm-qnn", "llvm", "python", "numpy"}
    assert len(metadata.digest) == 64
    assert Metadata.from_fields(metadata.to_fields()) == metadata
    rewritten(file, tmp_path / "other.so", key="something")
    (variant,) = read_package(tmp_path / "other.so").variants
    assert variant.metadata == replace(metadata, key="something")


def test_what_is_written_of_another_version_is_an_error(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Metadata, "to_fields", lambda self: {"future": 1})
    rewritten(file, tmp_path / "future.so")
    fails("its description cannot be understood: KeyError", tvm_qnn.load, tmp_path / "future.so")


def test_a_failure_leaves_the_old_file_and_no_other(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "adder.so"
    path.write_text("old")

    def fail(part: Path) -> None:
        part.write_text("half")
        raise QnnError("no more room")

    (variant,) = read_package(file).variants
    fails("no more room", write_package, path, [replace(variant, link=fail)])
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["adder.so"]


def test_a_file_that_is_replaced_or_removed_stays_usable(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "adder.so"
    shutil.copy(file, path)
    library = tvm_qnn.load(path)
    os.replace(shutil.copy(file, tmp_path / "next.so"), path)
    path.unlink()
    x = np.ones((2, 3000), np.int8)
    np.testing.assert_array_equal(library.run(x), x + W)
    library.export(tmp_path / "copy.so")
    assert (tmp_path / "copy.so").read_bytes() == file.read_bytes()


def test_a_library_in_the_place_of_another_runs_its_own_code(file: Path, tmp_path: Path) -> None:
    path, x = tmp_path / "model.so", np.ones((2, 3000), np.int8)
    ty = relax.TensorType((2, 3000), "int8")
    subtracting = tvm_qnn.build(module({"x": ty, "w": ty}, relax.op.subtract), "host", {"w": W})
    libraries = []
    for _ in range(3):
        shutil.copy(file, tmp_path / "next.so")
        os.replace(tmp_path / "next.so", path)
        libraries.append((tvm_qnn.load(path), x + W))
        subtracting.export(path)
        libraries.append((tvm_qnn.load(path), x - W))
    for library, expected in libraries:
        np.testing.assert_array_equal(library.run(x), expected)


def test_an_expected_digest_keeps_other_files_out(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for spelled in (digest, digest.upper()):
        assert tvm_qnn.load(file, digest=spelled).digest == digest
    rewritten(file, tmp_path / "other.so", key="something")  # whole: it loads
    tvm_qnn.load(tmp_path / "other.so")
    monkeypatch.setattr(
        "tvm_qnn.library.package.json.loads", lambda text: pytest.fail("it was read")
    )
    fails(
        r"another file than was expected: its SHA-256 is [0-9a-f]+",
        tvm_qnn.load,
        tmp_path / "other.so",
        digest=digest,
    )
    fails("a digest is 64 hexadecimal digits", tvm_qnn.load, file, digest=f"sha256:{digest}")


def test_a_library_that_is_no_file_has_no_digest() -> None:
    with pytest.raises(QnnError, match="a digest once it is a file"):
        _ = tvm_qnn.build(adder(), "host").digest


def test_what_a_description_says_of_tensors_is_checked(file: Path, tmp_path: Path) -> None:
    (info,) = read_package(file).variants[0].metadata.signature.inputs
    wrong: list[dict[str, Any]] = [
        {"shape": (-2, 3000)},
        {"shape": (2.0, 3000)},
        {"shape": (1 << 62, 8)},
        {"dtype": "int7"},
        {"name": None},
        {"role": 1},
        {"role": "map", "classes": 1.5},
        {"scale": 1.0},
        {"scale": "1", "zero_point": 0},
    ]
    for number, change in enumerate(wrong):
        path = tmp_path / f"{number}.so"
        rewritten(file, path, signature=Signature((replace(info, **change),), ()))
        fails("its description cannot be understood", tvm_qnn.load, path)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ((2, 3001), (2, 3000), "the library's code failed: "),
        ((2, 3000), (3000, 2), "the library's code gives .* its description does not say"),
    ],
)
def test_a_description_of_other_tensors_is_an_error_of_the_run(
    file: Path, tmp_path: Path, inputs: tuple[int, ...], outputs: tuple[int, ...], message: str
) -> None:
    signature = Signature((TensorInfo("x", inputs, "int8"),), (TensorInfo("y", outputs, "int8"),))
    rewritten(file, tmp_path / "other.so", signature=signature)
    library = tvm_qnn.load(tmp_path / "other.so")
    fails(message, library.run, np.zeros(inputs, np.int8))
