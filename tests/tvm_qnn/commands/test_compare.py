from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tvm_qnn
from tvm_qnn.cli import main
from tvm_qnn.compare import Comparison, TensorComparison


def test_an_exact_model(model: Path) -> None:
    result = CliRunner().invoke(main, ["compare", str(model), "--primitives", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["equal"]
    assert all(tensor["differing"] == 0 for tensor in found["tensors"])


def test_a_difference_is_shown_and_told_by_the_exit_code(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = (
        TensorComparison(3, "first", "CONV_2D", 100, 0, 0.0),
        TensorComparison(4, "second", "ADD", 100, 7, 2.0, {-2: 3, 1: 4}),
    )

    def different(*_arguments: Any, **_options: Any) -> Comparison:
        return Comparison(tensors)

    monkeypatch.setattr(tvm_qnn, "compare", different)
    result = CliRunner().invoke(main, ["compare", str(model), "--histogram", "h.png"])
    assert result.exit_code == 1
    assert "1 of 2 tensors" in result.stdout
    assert "The first that differs: second, of ADD." in result.stdout
    assert Path("h.png").read_bytes().startswith(b"\x89PNG")
