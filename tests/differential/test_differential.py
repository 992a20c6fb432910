"""A bounded share of the graphs of `python -m tests.differential`."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from click.testing import CliRunner

from frontends.tflite import from_tflite
from frontends.tflite.operators import codes_with
from tests.differential.__main__ import main
from tests.differential.graphs import STEPS, Graph
from tests.differential.growth import NOT_DRAWN, grow
from tests.differential.near import _projected
from tests.differential.open_file import open_file
from tests.differential.tflite_file import tflite_file
from tests.differential.trial import Mismatch, Trial, _gap, run_trial
from tests.operators.table import imported
from tests.support.as_written import compile_as_written
from tests.support.errors import fails
from tvm_qnn import Library, build
from tvm_qnn.target.target import NAMES


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_equal_litert(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed > 0:  # one file and the small models show that LLVM changes no result
        compile_as_written(monkeypatch)
    trial = run_trial(seed, graphs=12)
    assert trial.operators >= 12
    assert trial.mismatches == ()


@pytest.mark.parametrize("seed", range(100, 104))
def test_small_models_equal_litert(seed: int) -> None:
    # They become one function, in which LLVM sees values that one kernel writes and the next reads.
    assert run_trial(seed, graphs=2, ways=(True,)).mismatches == ()


def test_what_a_graph_keeps_is_compared() -> None:
    def seeds() -> Iterator[int]:
        for seed in range(1000):
            file = Graph(np.random.default_rng(seed))
            grow(file)
            if file.codes[0] == "READ_VARIABLE":
                yield seed

    seed = next(seeds())
    assert run_trial(seed, graphs=1, ways=(False,)).mismatches == ()

    def forgetful(self: Library, *arrays: np.ndarray) -> object:
        self.reset()
        return run(self, *arrays)

    run = Library.run
    with patch.object(Library, "run", forgetful):
        assert len(run_trial(seed, graphs=1, ways=(False,)).mismatches) > 0


def test_what_lies_beyond_its_bound_differs() -> None:
    array = np.array([1.0, 2.0], np.float32)
    assert _gap(array + np.float32(1e-3), array, 2e-3) is None
    assert _gap(array + np.float32(1e-3), array, 0.0) is not None
    assert _gap(array + np.float32(3e-3), array, 2e-3) is not None
    assert max(tflite_file(11, 100).bounds) < 0.2


def test_no_graph_has_litert_write_beyond_its_memory() -> None:
    graph = Graph(np.random.default_rng(0))
    drawn = {kind: [_projected(graph, kind, 3) for _ in range(60)] for kind in ("float32", "int8")}
    assert set(drawn["float32"]) == {0, 1, 2, 3}
    assert max(drawn["int8"]) == 7


def test_random_graphs_are_compiled_for_any_target() -> None:
    # No machine runs both.
    trial = run_trial(7, graphs=2, targets=("x86-sse4.1", "armv7-neon"), ways=(True,))
    assert trial.mismatches == ()


def test_what_is_wrong_for_one_of_all_targets_names_it(tmp_path: Path) -> None:
    def fake(seed: int, graphs: int, targets: list[str], *_others: object) -> Trial:
        assert {*NAMES} - {"c"} < {*targets}
        return Trial(seed, 5, (Mismatch(3, targets[1], True, 2, 1.0),), b"")

    with patch("tests.differential.__main__.run_trial", fake):
        words = ["--target", "all", "--graphs", "1", "--output", str(tmp_path)]
        result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "graph 3 by kernels: for x86-avx2 2 elements differ by up to 1" in result.output


@pytest.fixture(scope="module")
def many() -> Graph:
    file = Graph(np.random.default_rng(0))
    for _ in range(9000):
        grow(file)
    return file


_KINDS = {
    "quantized": (("int8", "uint8"), True),
    "int16": (("int16",), True),
    "unscaled": (("int8", "uint8", "int16"), False),
    "floats": (("float32",), False),
    "hybrid": (("hybrid",), False),
    "whole": (("int32", "int64", "bool"), False),
}
"""Rules of the importer: the types of their tensors, and whether these have a scale."""


@pytest.mark.parametrize("kind", _KINDS)
def test_every_operator_of_a_type_is_drawn(kind: str, many: Graph) -> None:
    dtypes, is_scaled = _KINDS[kind]
    drawn = {code for code, dtype, scaled in many.drawn if dtype in dtypes and scaled == is_scaled}
    assert set(codes_with(kind)) - drawn == set(NOT_DRAWN.get(kind, {}))


def test_every_operator_of_any_type_is_drawn(many: Graph) -> None:
    assert set(codes_with("data")) - set(many.codes) == set(NOT_DRAWN["data"])
    assert imported() - set(many.codes) == {*NOT_DRAWN["data"], *NOT_DRAWN["floats"]}


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool", "float32"])
def test_what_means_itself_is_moved(dtype: str, many: Graph) -> None:
    moved = {code for code, each, scaled in many.drawn if each == dtype and not scaled}
    assert moved >= {"CONCATENATION", "GATHER", "SELECT_V2", "SLICE", "STABLEHLO_PAD", "TRANSPOSE"}


def test_every_operator_that_moves_bytes_moves_words(many: Graph) -> None:
    moved = [
        {code for code, dtype, _ in many.drawn if dtype in dtypes and code in codes_with("data")}
        for dtypes in (("int8", "uint8"), ("int16",))
    ]
    assert moved[0] - moved[1] == set(NOT_DRAWN["moves of int16"])


def test_graphs_branch_and_have_several_outputs() -> None:
    file = Graph(np.random.default_rng(1))
    for _ in range(50):
        grow(file)
    assert len(STEPS) >= 20
    assert set(file.owners) == set(range(50))
    assert len(file.outputs) > 60


def test_graphs_with_open_sizes_equal_litert_in_several_sizes() -> None:
    trial = run_trial(0, graphs=8, ways=(True,), format="tflite-open")
    assert trial.operators >= 8
    assert trial.mismatches == ()


def test_a_size_that_a_build_fixes_differs() -> None:
    first = open_file(0, 1)
    assert len({each[0].shape for each in first.runs}) > 1
    mod, params = from_tflite(first.content)
    library = build(mod, "host", params)
    fails("input", library.run, *first.runs[1])
