from __future__ import annotations

import pytest
from click.testing import CliRunner

from benchmarks.bench_open_sizes import main


@pytest.mark.parametrize("model", ["dense", "encoder"])
def test_each_size_is_timed(model: str) -> None:
    words = ["--model", model, "--width", "32", "--size", "1", "--size", "5"]
    result = CliRunner().invoke(main, [*words, "--rounds", "1", "--seconds", "0.01"])
    assert result.exit_code == 0, result.output
    assert [line.split()[1] for line in result.output.splitlines() if line[:1] == "│"] == ["1", "5"]
    assert "processor seconds of a build: " in result.output


def test_networks_of_pictures_take_a_batch() -> None:
    words = ["--model", "mobilenet_v2", "--size", "2", "--rounds", "1", "--seconds", "0.01"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
