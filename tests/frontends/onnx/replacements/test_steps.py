"""A step of a decoder gives what attention over the whole buffer gives."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx.replacements.steps import STEP
from tests.frontends.onnx.replacements.test_group_queries import model
from tests.support.errors import fails
from tests.support.onnx_graphs import Array, compiled, on_runtime, onnx

PAST, TOKENS, LENGTH = 12, 3, 7


def step_of(whole: Any, data: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
    """Return the model of a step, and its data, of one of a whole buffer."""
    proto = type(whole)()
    proto.CopyFrom(whole)
    (node,) = (node for node in proto.graph.node if node.op_type == "GroupQueryAttention")
    node.attribute.append(onnx.helper.make_attribute(STEP, 1))
    columns = np.ascontiguousarray(data["a"].swapaxes(2, 3))
    for value in proto.graph.input:
        if value.name == "a":
            for dim, size in zip(value.type.tensor_type.shape.dim, columns.shape, strict=True):
                dim.dim_value = size
    return proto, {**data, "a": columns}


SETTINGS: list[dict[str, Any]] = [
    *({}, {"is_rotated": True}, {"local_window_size": 4}, {"softcap": 2.0}, {"scale": 0.1}),
    *({"has_sinks": True}, {"smooth_softmax": 1}, {"is_packed": True}),
]


@pytest.mark.parametrize(
    ("tokens", "settings"),
    [*((TOKENS, each) for each in SETTINGS), *((1, each) for each in SETTINGS[:3])],
    ids=str,
)
def test_a_step_is_attention_with_a_past(tokens: int, settings: dict[str, Any]) -> None:
    whole, data = model(tokens=tokens, past=PAST, lengths=[LENGTH], total=PAST, **settings)
    expected = on_runtime(whole, data)
    found = compiled(*step_of(whole, data))
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    for new, present in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(new, present[:, :, LENGTH - tokens : LENGTH], atol=1e-6)


def test_what_lies_behind_the_past_is_not_read() -> None:
    whole, data = model(tokens=TOKENS, past=PAST, lengths=[LENGTH], total=PAST)
    step, given = step_of(whole, data)
    changed = {name: array.copy() for name, array in given.items()}
    changed["a"][..., LENGTH - TOKENS :] = 100
    changed["b"][:, :, LENGTH - TOKENS :] = -100
    for one, other in zip(compiled(step, given), compiled(step, changed), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_bias_of_scores_is_refused() -> None:
    settings: dict[str, Any] = {"past": PAST, "lengths": [LENGTH], "bias": (1, 1)}
    whole, data = model(tokens=TOKENS, **settings)
    step, given = step_of(whole, data)
    fails("a step with a bias of scores", compiled, step, given, error=UnsupportedOperatorError)
