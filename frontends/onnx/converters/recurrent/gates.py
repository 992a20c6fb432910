"""The functions of the gates of LSTM, GRU and RNN, as ONNX Runtime computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from qnn_ops import float_function

Gate = Callable[[ModuleBuilder, relax.Expr], relax.Expr]

_Rule = Callable[[ModuleBuilder, relax.Expr, float, float], relax.Expr]
"""``rule(builder, x, alpha, beta)``, which have other meanings for each function."""


def _number(value: float) -> relax.Expr:
    return relax.const(np.float32(value))


def _exp(builder: ModuleBuilder, x: relax.Expr) -> relax.Expr:
    """Return the exponential, rounded to float32; the C library's differs in 1 of 500."""
    return builder.emit(R.astype(R.exp(R.astype(x, "float64")), "float32"))


def _sigmoid(builder: ModuleBuilder, x: relax.Expr, _alpha: float, _beta: float) -> relax.Expr:
    """Return 1 / (1 + exp(-x)), or of the same meaning exp(x) / (1 + exp(x)) below 0."""
    emit, one = builder.emit, _number(1)
    power = _exp(builder, emit(R.negative(R.abs(x))))
    top = emit(R.where(emit(R.less(x, _number(0))), power, one))
    return emit(R.divide(top, R.add(one, power)))


def _tanh(builder: ModuleBuilder, x: relax.Expr, _alpha: float, _beta: float) -> relax.Expr:
    twice = builder.emit(R.multiply(_number(2), x))
    opened = _sigmoid(builder, twice, 0, 0)
    return builder.emit(R.subtract(R.multiply(_number(2), opened), _number(1)))


def _scaled_tanh(builder: ModuleBuilder, x: relax.Expr, alpha: float, beta: float) -> relax.Expr:
    inner = builder.emit(R.multiply(_number(beta), x))
    return builder.emit(R.multiply(_number(alpha), _tanh(builder, inner, 0, 0)))


def _affine(builder: ModuleBuilder, x: relax.Expr, alpha: float, beta: float) -> relax.Expr:
    product = builder.emit(R.multiply(_number(alpha), x))
    return builder.emit(R.add(product, _number(beta)))


def _hard_sigmoid(builder: ModuleBuilder, x: relax.Expr, alpha: float, beta: float) -> relax.Expr:
    bounded = R.maximum(_number(0), _affine(builder, x, alpha, beta))
    return builder.emit(R.minimum(_number(1), bounded))


def _relu(builder: ModuleBuilder, x: relax.Expr, _alpha: float, _beta: float) -> relax.Expr:
    return builder.emit(R.maximum(x, _number(0)))


def _leaky_relu(builder: ModuleBuilder, x: relax.Expr, alpha: float, _beta: float) -> relax.Expr:
    slower = builder.emit(R.multiply(_number(alpha), x))
    return builder.emit(R.where(builder.emit(R.greater_equal(x, _number(0))), x, slower))


def _thresholded_relu(
    builder: ModuleBuilder, x: relax.Expr, alpha: float, _beta: float
) -> relax.Expr:
    return builder.emit(R.where(builder.emit(R.greater(x, _number(alpha))), x, _number(0)))


def _elu(builder: ModuleBuilder, x: relax.Expr, alpha: float, _beta: float) -> relax.Expr:
    emit, zero = builder.emit, _number(0)
    power = _exp(builder, emit(R.minimum(x, zero)))
    below = emit(R.multiply(_number(alpha), emit(R.subtract(power, _number(1)))))
    return emit(R.where(emit(R.greater_equal(x, zero)), x, below))


def _softsign(builder: ModuleBuilder, x: relax.Expr, _alpha: float, _beta: float) -> relax.Expr:
    return builder.emit(R.divide(x, R.add(_number(1), R.abs(x))))


def _softplus(builder: ModuleBuilder, x: relax.Expr, _alpha: float, _beta: float) -> relax.Expr:
    one_more = builder.emit(R.add(_number(1), _exp(builder, x)))
    wide = R.log(R.astype(one_more, "float64"))
    return builder.emit(R.astype(wide, "float32"))


def _function(name: str) -> _Rule:
    def rule(builder: ModuleBuilder, x: relax.Expr, _alpha: float, _beta: float) -> relax.Expr:
        return builder.emit(float_function(x, name))

    return rule


def _gru_sigmoid(builder: ModuleBuilder, x: relax.Expr, _alpha: float, _beta: float) -> relax.Expr:
    """Return (1 + tanh(x / 2)) / 2."""
    half = _number(0.5)
    bent = builder.emit(float_function(builder.emit(R.multiply(half, x)), "onnxruntime_gru_tanh"))
    return builder.emit(R.multiply(half, R.add(_number(1), bent)))


_RULES: dict[str, _Rule] = {
    "Affine": _affine,
    "Relu": _relu,
    "LeakyRelu": _leaky_relu,
    "ThresholdedRelu": _thresholded_relu,
    "Tanh": _tanh,
    "ScaledTanh": _scaled_tanh,
    "Sigmoid": _sigmoid,
    "HardSigmoid": _hard_sigmoid,
    "Elu": _elu,
    "Softsign": _softsign,
    "Softplus": _softplus,
}
"""Those of RNN, and those of the others that they do not have otherwise."""

LSTM_RULES: Mapping[str, _Rule] = {
    "Sigmoid": _function("onnxruntime_logistic"),
    "Tanh": _function("onnxruntime_tanh"),
}
"""What LSTM has otherwise, and the update gate of GRU."""
GRU_RULES: Mapping[str, _Rule] = {
    "Sigmoid": _gru_sigmoid,
    "Tanh": _function("onnxruntime_gru_tanh"),
}
"""What the other gates of GRU have otherwise."""

_BOTH, _ALPHA = (True, True), (True, False)
_TAKES = {
    **dict.fromkeys(("Affine", "ScaledTanh", "HardSigmoid"), _BOTH),
    **dict.fromkeys(("LeakyRelu", "ThresholdedRelu", "Elu"), _ALPHA),
}
"""Which functions take an alpha, and a beta."""
_DEFAULTS = {"LeakyRelu": (0.01, 0.0), "HardSigmoid": (0.2, 0.5), "Elu": (1.0, 0.0)}
_NAMES = {name.lower(): name for name in _RULES}


class Functions:
    """The functions of an operator's gates, with their numbers."""

    def __init__(self, attributes: Mapping[str, Any], defaults: Sequence[str], count: int) -> None:
        """Read the attributes of an operator, whose functions take alphas and betas in order.

        Args:
            attributes: of the operator.
            defaults: the functions of one direction.
            count: of directions.

        Raises:
            UnsupportedError: there are others, or too few.
        """
        names = [_text(name) for name in attributes.get("activations", ())]
        names = names or [*defaults] * count
        if len(names) != len(defaults) * count:
            raise UnsupportedError(
                f"activations are {len(names)}, needs {len(defaults)} for each direction"
            )
        numbers = [iter(attributes.get(f"activation_{key}", ())) for key in ("alpha", "beta")]
        self._each = [_with_numbers(name, numbers) for name in names]
        self._size = len(defaults)

    def gate(self, place: int, number: int, others: Mapping[str, _Rule] | None = None) -> Gate:
        """Return a function.

        Args:
            place: of the direction.
            number: of the function in it.
            others: what the operator has otherwise than RNN.
        """
        name, alpha, beta = self._each[place * self._size + number]
        rule = (others or {}).get(name, _RULES[name])
        return lambda builder, x: rule(builder, x, alpha, beta)


def clipped(
    builder: ModuleBuilder, x: relax.Expr, attributes: Mapping[str, Any], *, below: bool = False
) -> relax.Expr:
    """Return what a gate's function is given, within the bounds that there may be.

    Args:
        builder: where to.
        x: float32.
        attributes: of the operator.
        below: whether no bound may be stated as one below 0.

    Raises:
        UnsupportedError: the bound is not positive.
    """
    end = float(attributes.get("clip", 0.0))
    if "clip" not in attributes or (below and end < 0):
        return x
    if not end > 0 and not below:
        raise UnsupportedError(f"clip is {end}, must be positive")
    return builder.emit(R.maximum(R.minimum(x, _number(end)), _number(-end)))


def _with_numbers(name: str, numbers: Sequence[Iterator[float]]) -> tuple[str, float, float]:
    known = _NAMES.get(name.lower())
    if known is None:
        raise UnsupportedError(f"activations have {name!r}")
    takes = _TAKES.get(known, (False, False))
    found = zip(takes, numbers, _DEFAULTS.get(known, (0.0, 0.0)), strict=True)
    alpha, beta = (float(next(left, usual)) if taken else 0.0 for taken, left, usual in found)
    return known, alpha, beta


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
