import tvm

from benchmarks.bench_operators import CASES, HEAD, main, measure
from tests.support.commands import said


def test_a_row_has_both_times_and_the_speed() -> None:
    case = next(case for case in CASES if case.name == "softmax")
    row = measure(case, tvm.target.Target("llvm"), repeats=1)
    assert row.kernel > 0
    assert row.primitives > 0
    assert row.size == 2 * 1001
    cells = row.cells()
    assert len(cells) == len(HEAD)
    assert cells[0] == "softmax, 1×1001"


def test_the_command_chooses_cases_by_their_names() -> None:
    text = said(main, ["--target", "llvm", "softmax"])
    assert "softmax" in text
    assert "bilinear" not in text


def test_names_differ() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
