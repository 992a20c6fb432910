"""A bounded share of the trials of `python -m tests.fuzz`."""

import pytest

from tests.fuzz.campaign import run_campaign
from tests.fuzz.importers import IMPORTERS
from tests.fuzz.libraries import RAISED, RAN, REFUSED, campaign
from tests.support.linking import needs_linker


@pytest.mark.parametrize("importer", list(IMPORTERS))
def test_damaged_models_are_refused_or_valid(importer: str) -> None:
    result = run_campaign(importer, seconds=30, most=400)
    assert result.tried > 20
    assert result.refused > 0
    assert [(finding.seed, finding.what) for finding in result.findings] == []


@needs_linker
def test_changed_libraries_with_a_fitting_digest_are_refused_or_run() -> None:
    found = campaign(tries=60, seed=1)
    assert found[REFUSED] > 30
    assert found[RAN] > 0
    assert found[RAISED] == 0
    # One in a thousand still ends the process: it was 67.
    assert found[RAN] + found[REFUSED] >= 58
