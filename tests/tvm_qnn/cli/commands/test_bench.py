from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from qnn_ops.errors import QnnError
from tvm_qnn import oracle
from tvm_qnn.cli import main


def test_both_programs_are_timed(model: Path) -> None:
    result = CliRunner().invoke(main, ["bench", str(model), "--rounds", "3"])
    assert result.exit_code == 0, result.output
    assert "tvm-qnn" in result.stdout
    assert "LiteRT" in result.stdout


def test_without_litert_the_reason_is_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_arguments: object) -> None:
        raise QnnError("ai-edge-litert is not installed")

    monkeypatch.setattr(oracle, "LiteRtSession", absent)
    arguments = ["bench", str(model), "--rounds", "3", "--threads", "2", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["LiteRT (XNNPACK)"] == {"absent": "ai-edge-litert is not installed"}
    assert 0 < found["tvm-qnn"]["minimum_seconds"] <= found["tvm-qnn"]["median_seconds"]
    result = CliRunner().invoke(main, ["bench", str(model), "--rounds", "1"])
    assert result.exit_code == 0, result.output
    assert "1 runs of each" in result.stdout
    assert result.stderr == "Without LiteRT (XNNPACK): ai-edge-litert is not installed\n"
