from pathlib import Path

import pytest

from tvm_qnn.io import outputs
from tvm_qnn.io.claimed_folders import CLAIM, PREFIX, SUFFIX, own_folder, sweep


@pytest.fixture(autouse=True)
def as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let writing use claims, on any system."""
    monkeypatch.setattr(outputs, "own_folder", own_folder)
    monkeypatch.setattr(outputs, "sweep", sweep)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("old")
    with outputs.replacing(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
        assert len(names(tmp_path)) == 3  # with a folder and its claim
    assert path.read_text() == "new"
    assert names(tmp_path) == ["text"]


def test_a_folder_is_filled_with_its_files_alone(tmp_path: Path) -> None:
    with outputs.filling(tmp_path) as inside:
        (inside / "a").mkdir()
        (inside / "a" / "b").write_text("text")
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["b"]


def test_folders_are_left_alone_while_their_claim_is_there(tmp_path: Path) -> None:
    with outputs.scratch(tmp_path) as running:
        with outputs.scratch(tmp_path):
            assert running.is_dir()
        sweep(tmp_path)
        assert running.is_dir()
    assert names(tmp_path) == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    # Windows has removed the claim of the process that made the first.
    for name in (f"{PREFIX}1{SUFFIX}", f"{PREFIX}2{SUFFIX}", f"{PREFIX}3.other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").touch()
    (tmp_path / f"{PREFIX}2{CLAIM}").touch()
    (tmp_path / f"{PREFIX}4{SUFFIX}").symlink_to(tmp_path / f"{PREFIX}3.other")
    sweep(tmp_path)
    left = [f"{PREFIX}2{CLAIM}", f"{PREFIX}2{SUFFIX}", f"{PREFIX}3.other", f"{PREFIX}4{SUFFIX}"]
    assert names(tmp_path) == left
    assert names(tmp_path / f"{PREFIX}3.other") == ["half"]


def test_a_failed_folder_leaves_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, mode: int = 0o777) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, match="No space left"), own_folder(tmp_path):
        pass
    assert names(tmp_path) == []
