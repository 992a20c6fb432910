from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tvm_qnn
from benchmarks import soak as soaks
from benchmarks.soak import Soaked, soak
from tests.support.linking import needs_linker
from tests.support.modules import adder

pytestmark = needs_linker


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("soak") / "adder.so"
    tvm_qnn.build(adder((20, 300)), "host").export(path)
    return path


def test_memory_stays_flat_and_results_constant(file: Path) -> None:
    found = soak(file, runs=6400, threads=4, loads=50)
    assert (found.runs, found.differing) == (6400, 0)
    # A leak of one output of 6 KB a run would be 36 MB.
    assert abs(found.growth) < 3_000_000


def test_a_result_that_differs_is_counted_and_fails(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tvm_qnn.Library.run
    calls = iter(range(10**6))

    def flawed(self: tvm_qnn.Library, *arrays: Any) -> Any:
        result = run(self, *arrays)
        return np.zeros_like(result) if next(calls) == 100 else result

    monkeypatch.setattr("tvm_qnn.library.library.Library.run", flawed)
    assert soak(file, runs=500, threads=1, loads=3).differing == 1
    calls = iter(range(10**6))
    arguments = [str(file), "--runs", "500", "--threads", "1", "--loads", "3"]
    result = CliRunner().invoke(soaks.main, arguments)
    assert result.exit_code == 1
    assert "Results that differ: 1" in result.stdout


def test_growth_and_spread() -> None:
    found = Soaked(10, 1, 3, 1.0, (100, 90, 130, 110), 0)
    assert (found.growth, found.spread) == (10, 40)
    assert Soaked(10, 1, 3, 1.0, (), 0).growth == 0
