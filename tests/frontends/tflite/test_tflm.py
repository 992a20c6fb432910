"""The results of --reference tflm against TFLM itself, which `make test-mcu` installs if it can."""

from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.operators import codes_with
from frontends.tflite.reader import read_model
from tests.edges import arithmetic, choices, moves, places, rows, stablehlo, states  # noqa: F401 (registers their operators)
from tests.edges.campaign import FRAMEWORKS, GOOD, run_campaign
from tests.edges.draw import code_of
from tests.support.arrays import full_range
from tests.support.tflm import TFLM, missing
from tvm_qnn import build, digits
from tvm_qnn.build import export_c
from tvm_qnn.footprint import boards
from tvm_qnn.oracle import litert_tensors

pytestmark = [pytest.mark.mcu, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


RUNS = 20


def inputs_of(content: bytes) -> list[list[np.ndarray]]:
    graph, rng = read_model(content), np.random.default_rng(0)
    tensors = [graph.tensors[index] for index in graph.inputs]
    return [[full_range(rng, t.dtype, t.shape) for t in tensors] for _ in range(RUNS)]


@pytest.mark.skipif(boards.missing() is not None, reason=f"no board: {boards.missing()}")
@pytest.mark.parametrize("name", ["ad_i8", "kws_i8", "ic_resnet_i8", "vww_i8", "micro_speech_i8"])
def test_real_models_are_tflm_s_on_a_board(name: str, shared: Path, tmp_path: Path) -> None:
    content = (shared / "models" / "tflite" / f"{name}.tflite").read_bytes()
    mod, params = from_tflite(content, semantics="tflm")
    export_c(mod, "cortex-m4", params, tmp_path / "model")
    theirs, runs = TFLM(content), inputs_of(content)
    result = boards.run(boards.BOARDS["cortex-m4"], tmp_path, [array for (array,) in runs])
    assert result.outputs == [theirs.run(inputs)[0].tobytes() for inputs in runs]


def test_dense_layers_of_a_real_model_are_not_litert_s(shared: Path) -> None:
    content = (shared / "models" / "tflite" / "ad_i8.tflite").read_bytes()
    theirs, output = TFLM(content), read_model(content).outputs[0]
    pairs = [(theirs.run(x)[0], litert_tensors(content, x)[output]) for x in inputs_of(content)]
    assert sum(np.count_nonzero(tflm_s != litert_s) for tflm_s, litert_s in pairs) > 4000


def test_digits_are_tflm_s() -> None:
    content = digits.model("int8")
    mod, params = from_tflite(content, semantics="tflm")
    library, theirs = build(mod, "host", params), TFLM(content)
    for inputs in inputs_of(content):
        np.testing.assert_array_equal(library.run(*inputs), theirs.run(inputs)[0])


def test_random_operators_are_tflm_s() -> None:
    seeds = islice((seed for seed in count(20_000) if code_of(seed) in codes_with("micro")), 60)
    outcomes = list(run_campaign([*seeds], FRAMEWORKS["tflm"]))
    assert [outcome for outcome in outcomes if outcome.kind not in GOOD] == []
    assert sum(outcome.kind == "equal" for outcome in outcomes) > 10
