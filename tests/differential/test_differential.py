"""A bounded share of what `python -m tests.differential` does."""

from __future__ import annotations

import pytest

from tests.differential.growth import STEPS
from tests.differential.trial import run_trial


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_equal_litert(seed: int) -> None:
    trial = run_trial(seed, graphs=12)
    assert trial.operators >= 12
    assert trial.mismatches == ()


def test_every_operator_is_drawn() -> None:
    assert len({function.__name__ for function in STEPS}) >= 14
