"""A bounded share of the trials of `python -m tests.fuzz`."""

import pytest

from tests.fuzz.campaign import run_campaign
from tests.fuzz.importers import IMPORTERS


@pytest.mark.parametrize("importer", list(IMPORTERS))
def test_damaged_models_are_refused_or_valid(importer: str) -> None:
    result = run_campaign(importer, seconds=30, most=400)
    assert result.tried > 20
    assert result.refused > 0
    assert [(finding.seed, finding.what) for finding in result.findings] == []
