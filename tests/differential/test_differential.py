"""A bounded share of what `python -m tests.differential` does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.differential.graphs import STEPS, Graph
from tests.differential.growth import grow
from tests.differential.trial import run_trial


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_equal_litert(seed: int) -> None:
    trial = run_trial(seed, graphs=12)
    assert trial.operators >= 12
    assert trial.mismatches == ()


@pytest.mark.parametrize("seed", range(100, 104))
def test_small_models_equal_litert(seed: int) -> None:
    # They become one function, in which LLVM sees what one kernel writes and the next one reads.
    assert run_trial(seed, graphs=2, ways=(True,)).mismatches == ()


def test_every_operator_is_drawn() -> None:
    file = Graph(np.random.default_rng(0))
    for _ in range(1200):
        grow(file)
    table = (Path(__file__).parents[2] / "README.md").read_text().split("| MXNet |")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    integer = {code.strip() for row in rows for code in row.split(",") if code.strip().isupper()}
    assert {"CONV_2D", "STRIDED_SLICE", "PADV2"} <= integer
    assert integer <= set(file.codes)


def test_graphs_branch_and_have_several_outputs() -> None:
    file = Graph(np.random.default_rng(1))
    for _ in range(50):
        grow(file)
    assert len(STEPS) >= 20
    assert set(file.owners) == set(range(50))
    assert len(file.outputs) > 60
