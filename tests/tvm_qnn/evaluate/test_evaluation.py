"""The journal of an evaluation."""

from pathlib import Path

import pytest

from tests.support.errors import fails
from tvm_qnn.evaluate.evaluation import Journal

KEYS = {"a": 0, "b": 1, "c": 2}
RECORDS = [{"place": 1, "score": 0.1}, {"place": 0, "score": 1 / 3}]


def fill(journal: Journal) -> None:
    with journal.kept(RECORDS) as records:
        assert [*records] == RECORDS


@pytest.mark.parametrize("end", ["", '{"key": "c", "sco', "\n\n[1]\n", "\x00\n"])
def test_what_was_stopped_is_gone_on_with(tmp_path: Path, end: str) -> None:
    path = tmp_path / "journal"
    fill(Journal(path, "x", KEYS))
    with path.open("a") as file:
        file.write(end)
    journal = Journal(path, "x", KEYS)
    assert journal.records == {record["place"]: record for record in RECORDS}
    with journal.kept([{"place": 2, "score": 5}]) as records:
        assert len([*records]) == 1
    assert sorted(Journal(path, "x", KEYS).records) == [0, 1, 2]


def test_nothing_is_counted_twice() -> None:
    journal = Journal(None, "x", KEYS)
    with journal.kept([*RECORDS, *RECORDS]) as records:
        assert len([*records]) == 2


def test_a_journal_knows_its_samples_in_other_places_too(tmp_path: Path) -> None:
    fill(Journal(tmp_path / "journal", "x", KEYS))
    journal = Journal(tmp_path / "journal", "x", {"new": 0, "b": 4})
    assert journal.records == {4: {"place": 4, "score": 0.1}}
    fails("is of another evaluation", Journal, tmp_path / "journal", "y", KEYS)
    journal = Journal(tmp_path / "other", "x", KEYS)
    with journal.kept([{"place": 0, "score": float("nan")}]) as records:
        assert [*records] == [{"place": 0, "score": None}]
    assert Journal(tmp_path / "other", "x", KEYS).records == journal.records
