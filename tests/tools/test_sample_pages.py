from pathlib import Path

import pytest

from tools.sample_pages import write_pages


@pytest.mark.usefixtures("builds")
def test_every_kind_of_page_is_written(tmp_path: Path) -> None:
    names = ["compare", "evaluate", "inspect", "inspect_changes", "inspect_times", "report"]
    pages = write_pages(tmp_path / "pages")
    assert [path.stem for path in pages] == names
    texts = [path.read_text("utf-8") for path in pages]
    assert all("<title>" in text for text in texts)
    assert "tvm-qnn evaluate digits.tflite pictures" in texts[1]
    assert not any(".part" in text for text in texts)
