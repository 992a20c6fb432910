"""RNN, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import check_equal, compiled, on_runtime
from tests.support.onnx_recurrent import DIRECTIONS, recurrent


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", [None, (5, 1, 3)])
def test_equal_to_onnx_runtime(direction: str, lengths: tuple[int, ...] | None) -> None:
    names = ["HardSigmoid", "Softsign"][: DIRECTIONS[direction]]
    model, data = recurrent("RNN", direction=direction, lengths=lengths, activations=names)
    outputs, hidden = check_equal(model, data, primitives=direction == "bidirectional")
    assert len(np.unique(outputs)) > 20
    assert hidden.any()


def test_functions_of_the_c_library_are_near() -> None:
    # Its exponential is not rounded to the nearest number in some cases.
    direction = "bidirectional"
    numbers: dict[str, Any] = {"activation_alpha": [0.7, 0.9], "activation_beta": [0.4, 0.3]}
    for names in (["Tanh", "Tanh"], ["Sigmoid", "ScaledTanh"]):
        model, data = recurrent("RNN", direction=direction, activations=names, **numbers)
        for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
            assert np.abs(ours - theirs).max() <= 2.0**-21
            assert (ours == theirs).mean() > 0.8


def test_one_row_is_added_up_in_another_order() -> None:
    # ONNX Runtime has vectors along the products there, not along the units.
    model, data = recurrent("RNN", batch=1, activations=["Relu"])
    for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
        assert np.abs(ours - theirs).max() <= 2.0**-20 * np.abs(theirs).max()


@pytest.mark.parametrize(
    "attributes",
    [
        {"clip": 0.5, "activations": ["Relu"]},
        {"clip": -1.0, "activations": ["Softsign"]},
        {"activations": ["LeakyRelu", "Tanh"]},
        {"activations": ["HardSigmoid"]},
        {"activations": ["Softsign"], "without": "bh", "results": "_ h"},
        {"activations": ["Softsign"], "without": "h", "results": "y"},
    ],
    ids=str,
)
def test_attributes(attributes: dict[str, Any]) -> None:
    check_equal(*recurrent("RNN", **attributes))
