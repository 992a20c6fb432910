import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
import tvm_ffi

from tvm_qnn.library import built

ALIGNMENT = 64


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that says what the system's pages are."""
    (tmp_path / "enabled").write_text("always [madvise] never")
    (tmp_path / "hpage_pmd_size").write_text("2097152\n")
    monkeypatch.setattr(built, "_SYSTEM", tmp_path)
    return tmp_path


def constants(size: int) -> list[np.ndarray]:
    """Return arrays of some dtypes and ranks, of about this many bytes."""
    rng = np.random.default_rng(0)
    large = rng.integers(-128, 127, size, np.int8)
    empty, small = np.zeros((0, 3), np.float32), np.arange(11, dtype=np.uint8)
    return [np.array(7, np.int32), empty, rng.random((3, 5)), large, small]


def taken(arrays: list[np.ndarray]) -> tuple[list[np.ndarray], bool]:
    """Return the arrays that ``in_large_pages`` gives, and whether they are copies."""
    tensors = [tvm_ffi.from_dlpack(array) for array in arrays]
    found = built.in_large_pages(tensors, ALIGNMENT)
    return [np.from_dlpack(each) for each in found], found[-1] is not tensors[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has such pages")
def test_constants_are_copied_in_their_order(system: Path) -> None:
    arrays = constants(built.LEAST)
    found, are_copies = taken(arrays)
    assert are_copies
    for array, copy in zip(arrays, found, strict=True):
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(copy, array)
    places = [copy.ctypes.data for copy in found if copy.size]
    assert places == sorted(places)
    assert places[0] % (2 << 20) == 0
    assert all(place % ALIGNMENT == 0 for place in places)


@pytest.mark.parametrize("size", [1, built.LEAST // 2, built.MOST])
def test_few_and_many_constants_stay_where_they_are(system: Path, size: int) -> None:
    assert not taken(constants(size))[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [("enabled", "always madvise [never]"), ("hpage_pmd_size", "33554432"), ("enabled", None)],
)
def test_systems_without_such_pages(system: Path, name: str, text: str | None) -> None:
    (system / name).unlink() if text is None else (system / name).write_text(text)
    assert not taken(constants(built.LEAST))[1]


def test_a_system_without_memory_for_them(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_named: object) -> None:
        raise OSError("no such memory")

    monkeypatch.setattr("mmap.mmap", refuse)
    assert not taken(constants(built.LEAST))[1]


def test_dtypes_that_numpy_lacks_stay_where_they_are(system: Path) -> None:
    tensors = [tvm.runtime.empty((built.LEAST,), "bfloat16")]
    assert built.in_large_pages(tensors, ALIGNMENT) == tensors
