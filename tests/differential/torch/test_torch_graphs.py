"""A share of the graphs of `python -m tests.differential --format torch`."""

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from tests.differential.trial import run_trial

pytestmark = pytest.mark.torch


@pytest.mark.filterwarnings("ignore")  # some operators are float32 there, too
def test_random_networks_are_the_delegates() -> None:
    trial = run_trial(1, 3, ways=(True,), format="torch")
    assert trial.operators > 30
    assert trial.mismatches == ()
