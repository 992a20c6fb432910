"""A bounded share of the models of `python -m tests.edges`."""

from __future__ import annotations

from pathlib import Path

from tests.edges import arithmetic, choices, layers, moves, places, rows, stablehlo, states  # noqa: F401 (registers their operators)
from tests.edges.campaign import GOOD, run_campaign
from tests.edges.draw import RULES


def test_random_operators_equal_litert() -> None:
    outcomes = list(run_campaign(range(20_000, 20_060)))
    assert [outcome for outcome in outcomes if outcome.kind not in GOOD] == []
    assert sum(outcome.kind == "equal" for outcome in outcomes) > 20


def test_every_operator_is_drawn() -> None:
    table = (Path(__file__).parents[2] / "README.md").read_text().split("| MXNet |")[0]
    lines = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    known = {code.strip() for line in lines for code in line.split(",") if code.strip().isupper()}
    assert {"CONV_2D", "STRIDED_SLICE"} <= known
    assert known - set(RULES) == set()
