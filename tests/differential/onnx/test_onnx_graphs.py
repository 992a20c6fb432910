"""A bounded share of the graphs of `python -m tests.differential --format onnx`."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from frontends.onnx.operators import OPERATORS
from frontends.onnx.replacements.registry import RULES
from qnn_ops.errors import QnnError
from tests.differential.__main__ import main
from tests.differential.onnx.file import onnx_file
from tests.differential.onnx.graphs import FORMS, IN_BOTH, Graph
from tests.differential.onnx.growth import NOT_DRAWN, grow
from tests.differential.trial import run_trial
from tests.support.as_written import compile_as_written
from tvm_qnn import build

pytestmark = pytest.mark.filterwarnings("ignore:computed in float32")


@pytest.mark.parametrize("seed", [0, 1, 3, 5])  # TVM simplifies one loop of seed 2 for 5 seconds
def test_random_graphs_equal_onnx_runtime(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed > 0:  # one file and the small models show that LLVM changes no result
        compile_as_written(monkeypatch)
    trial = run_trial(seed, graphs=12, format="onnx")
    assert trial.operators >= 12
    assert trial.mismatches == ()


@pytest.mark.parametrize("seed", range(100, 103))
def test_small_models_equal_onnx_runtime(seed: int) -> None:
    assert run_trial(seed, graphs=2, ways=(True,), format="onnx").mismatches == ()


@pytest.mark.parametrize("seed", [7, 15])
def test_first_axes_of_three_sizes(seed: int) -> None:
    trial = run_trial(seed, graphs=1, ways=(True,), format="onnx-open")
    assert trial.operators >= 4
    assert trial.mismatches == ()


@pytest.mark.parametrize("seed", range(200, 203))
def test_both_forms_of_a_network_give_the_same_integers(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_as_written(monkeypatch)  # what the forms mean is asked, not how it is compiled
    results = []
    for form in FORMS:
        file = onnx_file(seed, 8, form)
        (answers,) = file.answers
        found = build(file.load()[0], "host").run(*file.arrays)
        results.append([*found.values()] if isinstance(found, dict) else [found])
        assert len(results[-1]) == len(answers) >= 8
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


def test_files_that_onnx_runtime_refuses_are_counted_apart(tmp_path: Path) -> None:
    words = ["--format", "onnx", "--graphs", "1", "--per-file", "1", "--output", str(tmp_path)]
    rejected = QnnError("ONNX Runtime rejects the model: out of range")
    with patch("tests.differential.onnx.file.onnxruntime_outputs", side_effect=rejected):
        result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "0 graphs, 0 operators: 0 files differ, 1 refused by the framework" in result.output


@pytest.fixture(scope="module")
def many() -> dict[str, Graph]:
    files = {}
    for form in FORMS:
        files[form] = Graph(np.random.default_rng(0), form)
        for _ in range(600):
            grow(files[form])
    return files


def test_every_operator_of_the_importer_is_drawn(many: dict[str, Graph]) -> None:
    drawn = {node.op_type for file in many.values() for node in file.nodes}
    assert {*OPERATORS, *RULES} - drawn == set(NOT_DRAWN)


def test_graphs_are_of_the_form_that_is_asked_for(many: dict[str, Graph]) -> None:
    qdq, qoperator = ({node.op_type for node in many[form].nodes} for form in FORMS)
    assert set(RULES) & qdq == set(IN_BOTH)
    assert set(RULES) - set(NOT_DRAWN) <= qoperator
    assert many["qdq"].arrays[0].dtype == many["qoperator"].arrays[0].dtype


def test_graphs_branch_have_several_outputs_and_both_dtypes() -> None:
    dtypes = set()
    for seed in range(8):
        file = Graph(np.random.default_rng(seed))
        for _ in range(20):
            grow(file)
        dtypes.add(file.dtype)
        assert set(file.owners) == set(range(20))
        assert len(file.outputs) > 22
    assert dtypes == {"int8", "uint8"}
