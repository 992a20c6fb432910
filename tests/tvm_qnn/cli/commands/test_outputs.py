import os
from pathlib import Path

import pytest

from tests.support.errors import fails
from tvm_qnn.cli.commands.outputs import check_file, check_folder


@pytest.fixture(params=["read-only", "/proc"])
def no_place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a folder in which no file can be made."""
    if request.param == "/proc":
        return Path("/proc")
    if os.geteuid() == 0:
        pytest.skip("root may write to every folder")
    tmp_path.chmod(0o500)  # pytest removes it all the same
    return tmp_path


def test_a_place_that_takes_no_file_is_told(no_place: Path) -> None:
    fails(r"cannot write .*: no file can be made in", check_file, no_place / "out.npz")
    fails(r"cannot write .*: no file can be made in", check_folder, no_place / "a" / "b")


def test_a_place_of_another_kind_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fails("it is a folder", check_file, tmp_path)
    fails("there is no folder", check_file, tmp_path / "none" / "file")
    fails("is a file, not a folder", check_folder, tmp_path / "file" / "folder")
    for check in (check_file, check_folder):
        fails("cannot write -: the standard output", check, Path("-"))


def test_what_can_be_written_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("kept")
    for path in (tmp_path / "old", tmp_path / "new", Path("/dev/null")):
        check_file(path)
    check_folder(tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
def test_a_read_only_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "old").touch(mode=0o400)
    fails("it is read-only", check_file, tmp_path / "old")
