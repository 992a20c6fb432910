from pathlib import Path

import pytest

from tvm_qnn.target import sources


def digest(folder: Path) -> str:
    """Read the folder anew, which a process does once."""
    sources._folder_digest.cache_clear()
    return sources.sources_digest.__wrapped__(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.py").write_text("1")
    return tmp_path


def test_a_digest_changes_with_sources_alone(folder: Path) -> None:
    found = [digest(folder)]
    (folder / "inner" / "a.py").write_text("2")
    found.append(digest(folder))
    (folder / "inner" / "a.py").rename(folder / "inner" / "b.py")
    found.append(digest(folder))
    (folder / "inner").rename(folder / "other")
    found.append(digest(folder))
    assert len({*found}) == len(found)
    before = digest(folder)
    (folder / "other" / "__pycache__").mkdir()
    (folder / "other" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"")
    (folder / "other" / "notes.txt").write_text("")
    assert digest(folder) == before
