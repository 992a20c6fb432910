"""How much there is to compute: an operator's products of inputs and weights."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from frontends.tflite.model import Model, Operator

_PRODUCTS_PER_OUTPUT: dict[str, Callable[[tuple[int, ...]], int]] = {
    # By the shape of the weights: [O, KH, KW, I], [1, KH, KW, O], [O, I].
    "CONV_2D": lambda weights: prod(weights[1:]),
    "DEPTHWISE_CONV_2D": lambda weights: prod(weights[1:3]),
    "FULLY_CONNECTED": lambda weights: weights[-1],
}


def operations(graph: Model, operator: Operator) -> int:
    """Products and additions of products, as the model states them: twice the products.

    0 for an operator that has no weights to multiply by.
    """
    per_output = _PRODUCTS_PER_OUTPUT.get(operator.code)
    if per_output is None:
        return 0
    weights = graph.tensors[operator.inputs[1]].shape
    return 2 * prod(graph.tensors[operator.outputs[0]].shape) * per_output(weights)
