"""Random softmaxes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.arrays import full_range


@st.composite
def softmaxes(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype, out_dtype = (draw(st.sampled_from(["int8", "uint8"])) for _ in range(2))
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    if draw(st.booleans()):
        # Long rows of equal values reach sums of 512 and more.
        shape = (*shape[:-1], draw(st.sampled_from([300, 700, 5000])))
        axis = -1
    data = full_range(rng, dtype, shape)
    if draw(st.booleans()):
        data = data >> 7  # two values only
    return [data], {
        "input_scale": 2.0 ** draw(st.floats(-28, 7)),
        "input_zero_point": int(full_range(rng, dtype, ())),
        "output_scale": 1 / 256,
        "output_zero_point": -128 if out_dtype == "int8" else 0,
        "out_dtype": out_dtype,
        "beta": draw(st.sampled_from([1.0, 0.3])),
        "axis": axis,
    }
