from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tvm_qnn.cli import main


@pytest.mark.usefixtures("no_build")
def test_missing_mlserver_is_told_before_the_work(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlserver", None)
    result = CliRunner().invoke(main, ["serve", str(model)])
    assert result.exit_code == 1
    assert "serve needs the package mlserver" in result.stderr
    assert "pip install 'tvm-qnn[serve]'" in result.stderr
