"""A bounded share of the models of `python -m tests.edges`."""

from frontends.tflite.operators import codes_with
from tests.edges import arithmetic, choices, layers, moves, places, rows, stablehlo, states  # noqa: F401 (registers their operators)
from tests.edges.campaign import GOOD, run_campaign
from tests.edges.draw import RULES


def test_random_operators_equal_litert() -> None:
    outcomes = list(run_campaign(range(20_000, 20_060)))
    assert [outcome for outcome in outcomes if outcome.kind not in GOOD] == []
    assert sum(outcome.kind == "equal" for outcome in outcomes) > 20


def test_every_operator_is_drawn() -> None:
    codes = codes_with("quantized", "data", "hybrid")
    known = {code for code in codes if not code.startswith("CUSTOM:")}
    # RANGE is imported of sizes alone, which tests/frontends/tflite/test_open_sizes.py has.
    assert known - set(RULES) == {"RANGE"}
