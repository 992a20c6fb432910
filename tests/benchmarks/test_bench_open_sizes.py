from __future__ import annotations

import pytest

from benchmarks.bench_open_sizes import main
from tests.support.commands import said


@pytest.mark.parametrize("model", ["dense", "encoder"])
def test_each_size_is_timed(model: str) -> None:
    words = ["--model", model, "--width", "32", "--size", "1", "--size", "5"]
    text = said(main, [*words, "--rounds", "1", "--seconds", "0.01"])
    assert [line.split()[1] for line in text.splitlines() if line[:1] == "│"] == ["1", "5"]
    assert "processor seconds of a build: " in text


def test_networks_of_pictures_take_a_batch() -> None:
    words = ["--model", "mobilenet_v2", "--size", "2", "--rounds", "1", "--seconds", "0.01"]
    said(main, words)
