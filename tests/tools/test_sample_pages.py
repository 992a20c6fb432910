from __future__ import annotations

from pathlib import Path

from tools.sample_pages import write_pages


def test_every_kind_of_page_is_written(tmp_path: Path) -> None:
    names = ["compare", "evaluate", "inspect", "inspect_changes", "inspect_times", "report"]
    pages = write_pages(tmp_path / "pages")
    assert [path.stem for path in pages] == names
    assert all("<title>" in path.read_text("utf-8") for path in pages)
