"""Random means."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.arrays import full_range


@st.composite
def means(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype, out_dtype = (draw(st.sampled_from(["int8", "uint8"])) for _ in range(2))
    shape = tuple(draw(st.lists(st.integers(1, 6), max_size=4)))
    rank = len(shape)
    axis = draw(st.lists(st.integers(-rank, rank - 1), max_size=rank)) if rank else []
    input_scale = 2.0 ** rng.uniform(-10, 3)
    # Mostly like the input's; sometimes everything saturates or vanishes.
    ratio = 2.0 ** draw(st.sampled_from([0.0, -1.0, 0.37, -2.7, 30.0, -40.0]))
    return [full_range(rng, dtype, shape)], {
        "axis": axis,
        "keepdims": draw(st.booleans()),
        "input_scale": input_scale,
        "input_zero_point": int(full_range(rng, dtype, ())),
        "output_scale": input_scale * ratio,
        "output_zero_point": int(full_range(rng, out_dtype, ())),
        "out_dtype": out_dtype,
    }
