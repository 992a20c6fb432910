import errno
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import tvm_qnn
from qnn_ops.errors import QnnError
from tests.support.disks import small_disk
from tests.support.linking import need_linker
from tests.support.modules import adder
from tests.support.processes import printed
from tvm_qnn.library.library import Library
from tvm_qnn.target.objects import in_memory

W = np.arange(6000, dtype=np.int8).reshape(2, 3000)


@pytest.fixture(scope="module")
def library() -> Library:
    return tvm_qnn.build(adder((2, 3000)), "host", {"w": W})


def test_elsewhere_objects_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.o"
    with in_memory([path]):
        assert path.is_symlink() == (sys.platform == "linux")
    path.unlink(missing_ok=True)
    monkeypatch.setattr(sys, "platform", "darwin")
    with in_memory([path]):
        assert not path.is_symlink()


NAMES = {"so": "m.so", "tvm": "m.so", "c": "m"}


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("used", [0, 12_000])
def test_a_full_disk_leaves_nothing(library: Library, tmp_path: Path, form: str, used: int) -> None:
    if form != "c":
        need_linker()
    with small_disk(tmp_path / "small", 16 << 10) as disk:
        (disk / "other").write_bytes(bytes(used))
        with pytest.raises(QnnError, match=f"cannot write {disk}.*: No space left on device"):
            library.export(disk / NAMES[form], format=form)
        assert [path.name for path in disk.iterdir()] == ["other"]


@pytest.mark.parametrize("form", NAMES)
def test_an_object_that_cannot_be_written_is_an_error(
    library: Library, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form != "c":
        need_linker()

    def full(path: Path, data: bytes) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(QnnError, match=f"cannot write {tmp_path}[^.]*(/m.so)?: No space left"):
        library.export(tmp_path / NAMES[form], format=form)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's size")
def test_a_limit_of_files_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    need_linker()
    code = """if True:
        import resource, sys
        from tests.tvm_qnn.target.test_objects import NAMES, W, adder, tvm_qnn
        library = tvm_qnn.build(adder((2, 3000)), "host", {"w": W})
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, resource.RLIM_INFINITY))
        for form, name in NAMES.items():
            try:
                library.export(f"{sys.argv[1]}/{name}", format=form)
            except tvm_qnn.QnnError as error:
                print(str(error)[:12])
    """
    assert printed(code, str(tmp_path)).splitlines() == ["cannot write"] * 3
    assert list(tmp_path.iterdir()) == []
