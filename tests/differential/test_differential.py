"""A bounded share of what `python -m tests.differential` does."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from click.testing import CliRunner

from tests.differential.__main__ import main
from tests.differential.graphs import STEPS, Graph
from tests.differential.growth import grow
from tests.differential.trial import Mismatch, Trial, run_trial
from tvm_qnn.target.target import NAMES


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_equal_litert(seed: int) -> None:
    trial = run_trial(seed, graphs=12)
    assert trial.operators >= 12
    assert trial.mismatches == ()


@pytest.mark.parametrize("seed", range(100, 104))
def test_small_models_equal_litert(seed: int) -> None:
    # They become one function, in which LLVM sees what one kernel writes and the next one reads.
    assert run_trial(seed, graphs=2, ways=(True,)).mismatches == ()


def test_random_graphs_are_compiled_for_any_target() -> None:
    # No machine runs both.
    trial = run_trial(7, graphs=2, targets=("x86-sse4.1", "armv7-neon"), ways=(True,))
    assert trial.mismatches == ()


def test_what_is_wrong_for_one_of_all_targets_names_it(tmp_path: Path) -> None:
    def fake(seed: int, graphs: int, targets: list[str], ways: object) -> Trial:
        assert {*NAMES} < {*targets}
        return Trial(seed, 5, (Mismatch(3, targets[1], True, 2, 1.0),), b"")

    with patch("tests.differential.__main__.run_trial", fake):
        words = ["--target", "all", "--graphs", "1", "--output", str(tmp_path)]
        result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "graph 3 by kernels: for x86-avx2 2 elements differ by up to 1" in result.output


def test_every_operator_is_drawn() -> None:
    file = Graph(np.random.default_rng(0))
    for _ in range(3000):
        grow(file)
    table = (Path(__file__).parents[2] / "README.md").read_text().split("| MXNet |")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    integer = {code.strip() for row in rows for code in row.split(",") if code.strip().isupper()}
    assert {"CONV_2D", "STRIDED_SLICE", "PADV2"} <= integer
    assert integer <= set(file.codes)


def test_graphs_branch_and_have_several_outputs() -> None:
    file = Graph(np.random.default_rng(1))
    for _ in range(50):
        grow(file)
    assert len(STEPS) >= 20
    assert set(file.owners) == set(range(50))
    assert len(file.outputs) > 60
