"""The tutorial runs; it checks its own claims."""

import runpy
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "tutorials" / "detector.py"


@pytest.mark.usefixtures("builds")
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_the_digits_are_found_and_drawn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(TUTORIAL))
    printed = capsys.readouterr().out
    assert "taken for boxes of detections" in printed
    assert "6 digits found, each in its place" in printed
