"""The tutorial runs; it checks its own claims."""

import runpy
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "tutorials" / "keyword_spotter.py"


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_the_words_are_spotted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    page = runpy.run_path(str(TUTORIAL))
    printed = capsys.readouterr().out
    assert "state: ['heard']" in printed
    assert len(page["spotted"]) == 8
    assert "two sessions and a reset: the same" in printed
