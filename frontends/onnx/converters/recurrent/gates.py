"""The gate functions of LSTM, GRU and RNN, as ONNX Runtime computes them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import text_of
from qnn_ops import float_function

Gate = Callable[[Any], Any]
"""``gate(x)`` computes with expressions that behave like numpy arrays."""

_Rule = Callable[[Any, float, float], Any]
"""``rule(x, alpha, beta)``; the meaning of alpha and beta depends on the function."""


def _exp(x: Any) -> Any:
    """Return the exponential, rounded to float32; 1 in 500 results of the C library differs."""
    return np.exp(x.astype(np.float64)).astype(np.float32)


def _sigmoid(x: Any, *_: float) -> Any:
    """Return 1 / (1 + exp(-x)); below 0 the equivalent exp(x) / (1 + exp(x))."""
    power = _exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def _tanh(x: Any, *_: float) -> Any:
    return 2 * _sigmoid(2 * x) - 1


def _function(name: str) -> _Rule:
    return lambda x, *_: x.to(float_function(x.expr, name))


_GRU_TANH = _function("onnxruntime_gru_tanh")

_RULES: dict[str, _Rule] = {
    "Affine": lambda x, alpha, beta: alpha * x + beta,
    "Relu": lambda x, *_: np.maximum(x, 0),
    "LeakyRelu": lambda x, alpha, _: np.where(x >= 0, x, alpha * x),
    "ThresholdedRelu": lambda x, alpha, _: np.where(x > alpha, x, 0),
    "Tanh": _tanh,
    "ScaledTanh": lambda x, alpha, beta: alpha * _tanh(beta * x),
    "Sigmoid": _sigmoid,
    "HardSigmoid": lambda x, alpha, beta: np.minimum(1, np.maximum(0, alpha * x + beta)),
    "Elu": lambda x, alpha, _: np.where(x >= 0, x, alpha * (_exp(np.minimum(x, 0)) - 1)),
    "Softsign": lambda x, *_: x / (1 + np.abs(x)),
    "Softplus": lambda x, *_: np.log((1 + _exp(x)).astype(np.float64)).astype(np.float32),
}
"""The functions of RNN; LSTM and GRU use them, too, except for their own versions below."""

LSTM_RULES: Mapping[str, _Rule] = {
    "Sigmoid": _function("onnxruntime_logistic"),
    "Tanh": _function("onnxruntime_tanh"),
}
"""The functions in which LSTM, and the update gate of GRU, differ from RNN."""
GRU_RULES: Mapping[str, _Rule] = {
    "Sigmoid": lambda x, *_: 0.5 * (1 + _GRU_TANH(0.5 * x, 0, 0)),
    "Tanh": _GRU_TANH,
}
"""The functions in which the other gates of GRU differ from RNN."""

_BOTH, _ALPHA = (True, True), (True, False)
_TAKES = {
    **dict.fromkeys(("Affine", "ScaledTanh", "HardSigmoid"), _BOTH),
    **dict.fromkeys(("LeakyRelu", "ThresholdedRelu", "Elu"), _ALPHA),
}
"""The functions that take an alpha, and a beta."""
_DEFAULTS = {"LeakyRelu": (0.01, 0.0), "HardSigmoid": (0.2, 0.5), "Elu": (1.0, 0.0)}
_NAMES = {name.lower(): name for name in _RULES}


def gates_of(
    attributes: Mapping[str, Any], defaults: Sequence[str], count: int
) -> Callable[..., Gate]:
    """Return the functions of an operator's gates, which take its alphas and betas in order.

    Args:
        attributes: of the operator.
        defaults: the functions of one direction.
        count: of directions.

    Returns:
        ``gate(direction, number, others)``: the function with an index in a direction. ``others``
        are the functions in which the operator differs from RNN.

    Raises:
        UnsupportedError: a function is unknown, or there are too few.
    """
    names = [text_of(name) for name in attributes.get("activations", ())]
    names = names or [*defaults] * count
    if len(names) != len(defaults) * count:
        raise UnsupportedError(
            f"activations are {len(names)}, needs {len(defaults)} for each direction"
        )
    numbers = [iter(attributes.get(f"activation_{key}", ())) for key in ("alpha", "beta")]
    found = [_with_numbers(name, numbers) for name in names]

    def gate(
        direction: int, number: int, others: Mapping[str, _Rule] = MappingProxyType({})
    ) -> Gate:
        name, alpha, beta = found[direction * len(defaults) + number]
        return lambda x: others.get(name, _RULES[name])(x, alpha, beta)

    return gate


def clipped(x: Any, attributes: Mapping[str, Any], *, below: bool = False) -> Any:
    """Return the argument of a gate's function, clipped if the operator states a bound.

    Args:
        x: an expression of float32.
        attributes: of the operator.
        below: whether a negative bound is allowed, and means no bound.

    Raises:
        UnsupportedError: the bound is not positive.
    """
    end = float(attributes.get("clip", 0.0))
    if "clip" not in attributes or (below and end < 0):
        return x
    if not end > 0 and not below:
        raise UnsupportedError(f"clip is {end}, must be positive")
    return np.maximum(np.minimum(x, end), -end)


def _with_numbers(name: str, numbers: Sequence[Iterator[float]]) -> tuple[str, float, float]:
    known = _NAMES.get(name.lower())
    if known is None:
        raise UnsupportedError(f"activations have {name!r}")
    takes = _TAKES.get(known, (False, False))
    found = zip(takes, numbers, _DEFAULTS.get(known, (0.0, 0.0)), strict=True)
    alpha, beta = (float(next(left, usual)) if taken else 0.0 for taken, left, usual in found)
    return known, alpha, beta
