"""GRU, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import check_equal, compiled, on_runtime
from tests.support.onnx_recurrent import DIRECTIONS, recurrent


@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", [None, (5, 0, 3)])
def test_equal_to_onnx_runtime(
    direction: str, linear: int, lengths: tuple[int, ...] | None
) -> None:
    model, data = recurrent("GRU", direction=direction, lengths=lengths, linear_before_reset=linear)
    outputs, hidden = check_equal(model, data, primitives=direction == "bidirectional")
    assert len(np.unique(outputs)) > 20
    assert hidden[:, 1].any() == (lengths is None)


@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize(
    "attributes",
    [
        {"clip": 0.5},
        {"activations": ["Tanh", "Sigmoid"]},
        {"activations": ["Relu", "Relu"], "clip": 0.9},
        {"activations": ["Affine", "LeakyRelu"], "activation_alpha": [0.4], "clip": 1.5},
        {"activations": ["HardSigmoid", "Softsign"]},
    ],
    ids=str,
)
def test_attributes(linear: int, attributes: dict[str, Any]) -> None:
    check_equal(*recurrent("GRU", linear_before_reset=linear, **attributes))


@pytest.mark.parametrize(("without", "results"), [("b", "_ h"), ("h", "y"), ("bh", "y h")])
def test_operands_and_results_may_be_left_out(without: str, results: str) -> None:
    for linear in (0, 1):
        model, data = recurrent(
            *("GRU",),
            without=without,
            results=results,
            lengths=(2, 5, 4),
            linear_before_reset=linear,
        )
        check_equal(model, data)


def test_many_products_have_another_order() -> None:
    # ONNX Runtime adds up 256 products at a time: 2^-21 of their sizes, which come to about 400.
    model, data = recurrent("GRU", size=700, units=300, steps=2, batch=2)
    for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
        assert np.abs(ours - theirs).max() <= 400 * 2.0**-21


def test_too_few_functions() -> None:
    model, _ = recurrent("GRU")
    import onnx

    (node,) = model.graph.node
    node.attribute.append(onnx.helper.make_attribute("activations", ["Tanh"]))
    with pytest.raises(UnsupportedOperatorError, match=r"GRU.*activations are 1, needs 2"):
        from_onnx(model)
