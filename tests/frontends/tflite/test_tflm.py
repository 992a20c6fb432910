"""What --reference tflm gives beside TFLM itself; `make test-mcu` installs it where that can be."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.micro import ARITHMETIC, FLOATS, MOVES
from frontends.tflite.reader import read_model
from tests.edges import arithmetic, choices, moves, places, rows, stablehlo, states  # noqa: F401 (registers their operators)
from tests.edges.campaign import FRAMEWORKS, GOOD, run_campaign
from tests.edges.draw import code_of
from tests.support.arrays import full_range
from tests.support.tflm import TFLM, missing
from tvm_qnn import build, digits
from tvm_qnn.oracle import litert_tensors

pytestmark = [
    pytest.mark.mcu,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

Array = np.ndarray[Any, Any]

RUNS = 20


def inputs_of(content: bytes) -> list[list[Array]]:
    graph, rng = read_model(content), np.random.default_rng(0)
    tensors = [graph.tensors[index] for index in graph.inputs]
    return [[full_range(rng, t.dtype, t.shape) for t in tensors] for _ in range(RUNS)]


def elements_off(content: bytes) -> int:
    """Return how many elements of 20 runs differ from TFLM's."""
    mod, params = from_tflite(content, semantics="tflm")
    library, theirs = build(mod, "host", params), TFLM(content)
    return sum(
        int(np.count_nonzero(library.run(*inputs) != theirs.run(inputs)[0]))
        for inputs in inputs_of(content)
    )


@pytest.mark.parametrize("name", ["ad_i8", "kws_i8", "ic_resnet_i8", "vww_i8", "micro_speech_i8"])
def test_real_models_are_tflm_s(name: str, shared: Path) -> None:
    content = (shared / "models" / "tflite" / f"{name}.tflite").read_bytes()
    assert elements_off(content) == 0


def test_dense_layers_of_a_real_model_are_not_litert_s(shared: Path) -> None:
    content = (shared / "models" / "tflite" / "ad_i8.tflite").read_bytes()
    theirs, output = TFLM(content), read_model(content).outputs[0]
    pairs = [(theirs.run(x)[0], litert_tensors(content, x)[output]) for x in inputs_of(content)]
    assert sum(np.count_nonzero(tflm_s != litert_s) for tflm_s, litert_s in pairs) > 4000


def test_digits_are_tflm_s() -> None:
    assert elements_off(digits.model("int8")) == 0


def test_random_operators_are_tflm_s() -> None:
    taken = {*ARITHMETIC, *MOVES, *FLOATS}
    seeds = islice((seed for seed in count(20_000) if code_of(seed) in taken), 60)
    outcomes = list(run_campaign([*seeds], FRAMEWORKS["tflm"]))
    assert [outcome for outcome in outcomes if outcome.kind not in GOOD] == []
    assert sum(outcome.kind == "equal" for outcome in outcomes) > 10
