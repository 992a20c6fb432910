import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.disks import small_files
from tests.support.errors import fails
from tvm_qnn.io import outputs
from tvm_qnn.io.arrays import write_archive
from tvm_qnn.io.figures import new_figure, save_figure
from tvm_qnn.io.outputs import filling, replacing, scratch, write_text

ROOT = Path(__file__).resolve().parents[3]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("old")
    with replacing(path) as part:
        part.write_text("new")
        part.with_name("more").write_text("of use until then")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["text"]

    def interrupted() -> None:
        with replacing(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "new"
    assert names(tmp_path) == ["text"]


def test_a_file_has_the_mode_of_other_new_files(tmp_path: Path) -> None:
    write_text(tmp_path / "text", "ä")
    (tmp_path / "plain").touch()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1
    assert (tmp_path / "text").read_bytes() == "ä".encode()


def test_names_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    write_text(tmp_path / ("n" * 255), "text")
    assert len(names(tmp_path)) == 1


def test_several_files_are_moved_together(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("stays")
    with filling(tmp_path) as inside:
        for name in ("a", "b"):
            (inside / name).write_text(name)
        assert not (tmp_path / "a").exists()
    assert names(tmp_path) == ["a", "b", "other"]

    def half() -> None:
        with filling(tmp_path) as inside:
            (inside / "c").write_text("c")
            raise OSError(errno.ENOSPC, "No space left on device")

    fails(f"cannot write {tmp_path}: No space left on device", half)
    assert names(tmp_path) == ["a", "b", "other"]


def _text(path: Path) -> None:
    write_text(path, "long " * 2000)


def _archive(path: Path) -> None:
    write_archive(path, {"a": np.zeros(10_000)})


def _picture(path: Path) -> None:
    figure = new_figure(4, 4)
    noise = np.random.default_rng(0).random((300, 300))
    figure.subplots().imshow(noise)
    save_figure(figure, path)


@pytest.mark.parametrize(
    ("name", "write"), [("page.html", _text), ("outputs.npz", _archive), ("chart.png", _picture)]
)
def test_a_full_disk_leaves_the_old_file_and_is_an_error_that_names_it(
    name: str, write: object, tmp_path: Path
) -> None:
    assert callable(write)
    if write is _picture:
        pytest.importorskip("matplotlib", reason="draws the picture")
    path = tmp_path / name
    path.write_text("old")
    with small_files(5000), pytest.raises(QnnError, match=f"cannot write {path}: File too large"):
        write(path)
    assert names(tmp_path) == [name]
    assert path.read_text() == "old"
    write(path)
    assert path.stat().st_size > 5000


def test_an_error_of_the_block_names_the_file(tmp_path: Path) -> None:
    def fail() -> None:
        with replacing(tmp_path / "file"):
            raise QnnError("the linker says no")

    fails(r"cannot write .*/file: the linker says no", fail)


@pytest.mark.parametrize("name", ["folder", "nowhere/file"])
def test_a_place_that_cannot_be_written_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    fails(f"cannot write .*/{name}: ", write_text, tmp_path / name, "text")
    assert names(tmp_path) == ["folder"]
    assert names(tmp_path / "folder") == []


def test_what_a_link_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_text("old")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_pipes_and_devices_get_what_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        write_text(pipe, "text")
        assert read.result() == "text"
    assert pipe.is_fifo()
    fails("cannot write /dev/full: No space left on device", write_text, Path("/dev/full"), "text")
    assert Path("/dev/full").is_char_device()


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib, signal\n"
        "from tvm_qnn.io.outputs import replacing\n"
        "with replacing(pathlib.Path(sys.argv[1])) as part:\n"
        "    part.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "file"
    line = [sys.executable, "-c", code, str(path)]
    for _ in range(3):  # it does not grow
        assert subprocess.run(line, cwd=ROOT, check=False).returncode == -signal.SIGKILL
        assert len(names(tmp_path)) == 1
    with scratch(tmp_path) as running:  # of another writer, who goes on
        write_text(path, "whole")
        assert names(tmp_path) == sorted(["file", running.name])
    assert names(tmp_path) == ["file"]


def test_a_process_looks_into_a_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[Path] = []
    monkeypatch.setattr(outputs, "sweep", swept.append)
    for _ in range(3):
        write_text(tmp_path / "text", "text")
    assert swept == [tmp_path]


def test_threads_may_write_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "text"

    def write(number: int) -> None:
        with replacing(path) as part:
            part.write_text(str(number))
            barrier.wait(timeout=60)  # all of them write before one is done
            assert part.read_text() == str(number)

    barrier = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert names(tmp_path) == ["text"]


def test_many_writers_do_not_sweep_one_another(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for turn in range(50):
            write_text(tmp_path / str(number), str(turn))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert {path.read_text() for path in tmp_path.iterdir()} == {"49"}
    assert len(names(tmp_path)) == 8
