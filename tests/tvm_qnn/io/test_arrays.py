import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn.io.arrays import read_archive, read_array, write_archive

ARRAY = np.random.default_rng(0).integers(-9, 9, (1, 30), np.int8)


def contents(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (read_array, contents(np.save, ARRAY)),
        (read_archive, contents(np.savez, x=ARRAY)),
        (read_archive, contents(np.savez_compressed, x=ARRAY)),
    ],
    ids=["array", "archive", "compressed archive"],
)
def test_any_damage_is_the_one_error(
    read: Callable[[Path], Any], written: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    errors: list[QnnError] = []
    for place in range(len(written)):
        before, byte, after = written[:place], written[place], written[place + 1 :]
        for damaged in (
            before + bytes([byte ^ 0xFF]) + after,
            before + bytes([byte ^ 1]) + after,
            before,
        ):
            path.write_bytes(damaged)
            try:
                read(path)
            except QnnError as error:
                errors.append(error)
    assert all(str(error).startswith(f"{path} is ") for error in errors)
    assert all(len(str(error).splitlines()) == 1 for error in errors)
    # More than the ValueError that numpy raises by itself.
    assert len({type(error.__cause__) for error in errors}) > 2


def test_files_of_another_kind_are_errors(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", ARRAY)
    np.savez(tmp_path / "archive.npz", x=ARRAY)
    fails(r"archive\.npz is an archive .* must end in \.npz", read_array, tmp_path / "archive.npz")
    with pytest.raises(QnnError, match=r"array\.npy is one array: its name must end in \.npy"):
        read_archive(tmp_path / "array.npy")
    with zipfile.ZipFile(tmp_path / "notes.npz", "w") as archive:
        archive.writestr("notes.txt", "no array")
    with pytest.raises(QnnError, match=r"notes\.npz is not an archive .*'notes\.txt' in it is no"):
        read_archive(tmp_path / "notes.npz")
    for read in (read_array, read_archive):
        fails("there is no file", read, tmp_path / "none")
    path = tmp_path / "x.npy"
    for content in (b"", b"not numpy's", b"PNG", b"\x80\x04K\x01."):
        path.write_bytes(content)
        fails(r"x\.npy is no \.npy or \.npz file", read_array, path)


def test_arrays_of_any_name(tmp_path: Path) -> None:
    names = ["file", "args", "allow_pickle", "arr_0", "block/unit:0", "/top", "größe", ""]
    arrays = {name: ARRAY + np.int8(place) for place, name in enumerate(names)}
    path = tmp_path / "all.npz"
    write_archive(path, arrays)
    found = read_archive(path)
    assert list(found) == names
    with np.load(path) as archive:
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            np.testing.assert_array_equal(archive[name], array)
