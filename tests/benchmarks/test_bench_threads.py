from pathlib import Path

import pytest

from benchmarks.bench_threads import main, on_threads
from tests.support.commands import said


@pytest.mark.parametrize(
    ("two", "barriers", "four"),
    [
        (0.5, 0, 0.25),  # all work is shared
        (1.0, 0, 1.0),  # nothing is
        (0.75, 0, 0.625),  # half
        (0.6, 10, 0.55),  # all, and the launches take 0.1 and 0.3
        (2.0, 10, 1.3),  # more than the launches explain: nothing is shared
    ],
)
def test_launches_and_what_is_not_shared_stay(two: float, barriers: int, four: float) -> None:
    assert on_threads(4, 1.0, two, barriers, 0.01) == pytest.approx(four)


def test_barriers_and_weights_are_counted(tmp_path: Path) -> None:
    words = ["hybrid_dense:16x256x512", "--rounds", "1", "--seconds", "0.01"]
    said(main, [*words, "--output", str(tmp_path)])
    (*_, row) = (tmp_path / "threads.md").read_text().strip().splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    name, _one, _two, _ratio, barriers, weights, *_ = cells
    assert name == "hybrid_dense 16x256x512"
    assert int(barriers) > 0
    assert float(weights) == pytest.approx(256 * 512 / 1e6, abs=0.05)
