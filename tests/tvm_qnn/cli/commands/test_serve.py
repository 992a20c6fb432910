import sys
from pathlib import Path

import pytest

from tests.support.commands import refused
from tvm_qnn.cli import main


@pytest.mark.usefixtures("no_build")
def test_missing_mlserver_is_told_at_first(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlserver", None)
    text = refused(main, ["serve", str(model)])
    assert "serve needs the package mlserver" in text
    assert text.strip().endswith(
        "install it, in an environment of its own, with: pip install 'tvm-qnn[serve]'"
    )
