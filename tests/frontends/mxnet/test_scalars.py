"""Ranges and scales: computed now where they are known, else by the model, to the same bits."""

import numpy as np
import pytest
from tvm import relax

from frontends.mxnet.converters.quantization import Range
from frontends.mxnet.scalars import INT32_LEVELS, Number, levels, narrow_levels, scalar
from qnn_ops.dialect.expressions import emitted
from tests.support.modules import module
from tests.support.operators import run

RANGES = [(-1.0, 3.0), (0.0, 0.7), (-0.3, -0.1), (0.0, 0.0), (-1e-30, 1e-33)]


def test_levels() -> None:
    assert levels("int8") == 127.5
    assert levels("uint8") == 255.5
    assert narrow_levels("int8") == 127
    assert narrow_levels("uint8") == 255
    assert INT32_LEVELS == 2.0**31


def test_a_range_of_zeros_has_the_most_steps() -> None:
    assert Range(scalar(0), scalar(0)).steps_per_unit("int8") == INT32_LEVELS


def formula(low: Number, high: Number) -> Number:
    """Every operation once."""
    bounds = Range(low, high)
    sums = -low + bounds.magnitude * scalar(0.3)
    return np.maximum(sums, low / scalar(7)) * np.minimum(
        bounds.steps_per_unit("uint8"), scalar(1e30)
    )


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_known_and_computed_values_are_the_same(low: float, high: float) -> None:
    known = formula(scalar(low), scalar(high))
    assert known.dtype == np.float32
    ends = dict.fromkeys(("low", "high"), relax.TensorType((), "float32"))
    current = relax.BlockBuilder.current
    mod = module(ends, lambda *values: emitted(current(), formula, *values))
    assert run(mod, [scalar(low), scalar(high)]) == known
