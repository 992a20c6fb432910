import sys
from pathlib import Path

import pytest

from tests.support.errors import fails
from tvm_qnn.io.figures import new_figure, save_figure


@pytest.mark.parametrize("name", ["nowhere/x.png", "x.unknown"])
def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path, name: str) -> None:
    fails(f"cannot write .*{name}", save_figure, new_figure(1, 1), tmp_path / name)


def test_without_matplotlib_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    fails("pip install matplotlib", new_figure, 1, 1)
