"""The tutorial on MXNet runs, and its claims hold."""

import runpy
import sys
from pathlib import Path

import pytest

from tests.support.linking import needs_linker

TUTORIAL = Path(__file__).parents[2] / "tutorials" / "quantize_mxnet.py"


@needs_linker
def test_without_mxnet_the_stored_network_gives_the_stored_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TUTORIAL.parent)  # as the documentation is built
    monkeypatch.setitem(sys.modules, "mxnet", None)  # importing it is an ImportError
    page = runpy.run_path(str(TUTORIAL))
    printed = capsys.readouterr().out
    assert page["mx"] is None
    assert "MXNet is not installed: taking digits-symbol.json" in printed
    assert "qnn.quantized_conv2d" in printed
    assert "1500 of 1500 scores are MXNet's, bit for bit" in printed
    assert page["accuracy"] > 0.9
    assert "1500 of 1500 scores are the same when corrected" in printed
