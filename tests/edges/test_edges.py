"""A bounded share of what `python -m tests.edges` does."""

from __future__ import annotations

from pathlib import Path

from tests.edges import arithmetic, choices, moves, places, states  # noqa: F401 (registers their operators)
from tests.edges.campaign import GOOD, run_campaign
from tests.edges.draw import RULES


def test_random_operators_equal_litert() -> None:
    outcomes = list(run_campaign(range(20_000, 20_060)))
    assert [outcome for outcome in outcomes if outcome.kind not in GOOD] == []
    assert sum(outcome.kind == "equal" for outcome in outcomes) > 20


# Random graphs draw these, with few of their edges.
IN_GRAPHS_ONLY = {
    "BITWISE_XOR",
    "DILATE",
    "HASHTABLE_LOOKUP",
    "LOG_SOFTMAX",
    "MATRIX_DIAG",
    "MATRIX_SET_DIAG",
    "RELU_0_TO_1",
    "REVERSE_SEQUENCE",
    "RIGHT_SHIFT",
    "SCATTER_ND",
    "SPARSE_TO_DENSE",
    "STABLEHLO_ADD",
    "STABLEHLO_MAXIMUM",
    "STABLEHLO_MINIMUM",
    "STABLEHLO_MULTIPLY",
    "UNSORTED_SEGMENT_MAX",
    "UNSORTED_SEGMENT_MIN",
    "UNSORTED_SEGMENT_PROD",
    "UNSORTED_SEGMENT_SUM",
}


def test_every_operator_is_drawn() -> None:
    table = (Path(__file__).parents[2] / "README.md").read_text().split("| MXNet |")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    known = {code.strip() for row in rows for code in row.split(",") if code.strip().isupper()}
    assert {"CONV_2D", "STRIDED_SLICE"} <= known
    assert known - set(RULES) == IN_GRAPHS_ONLY
