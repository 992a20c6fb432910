"""Random poolings."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from qnn_ops.dialect.layouts import permutation
from tests.support.arrays import full_range


@st.composite
def poolings(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    layout = draw(st.sampled_from(["NHWC", "NCHW"]))
    # Sometimes more than 127 taps, which the primitives divide in another way.
    window = [draw(st.sampled_from([1, 2, 3, 4, 12])) for _ in range(2)]
    padding = [draw(st.integers(0, min(taps - 1, 2))) for taps in window * 2]
    size = [
        max(taps - before - after, 1) + draw(st.integers(0, 4))
        for taps, before, after in zip(window, padding[:2], padding[2:], strict=True)
    ]
    data = full_range(rng, dtype, (draw(st.integers(1, 2)), *size, draw(st.integers(1, 5))))
    attrs: dict[str, Any] = {
        "pool_type": draw(st.sampled_from(["max", "avg"])),
        "pool_size": window,
        "strides": [draw(st.integers(1, 2)) for _ in range(2)],
        "padding": padding,
        "layout": layout,
    }
    if draw(st.booleans()):
        attrs["out_min"], attrs["out_max"] = np.sort(full_range(rng, dtype, (2,))).tolist()
    if draw(st.booleans()):
        attrs["rounding"] = "half_even"
    if draw(st.booleans()):
        attrs["count_include_pad"] = True
    if draw(st.booleans()):
        attrs["origin"] = int(full_range(rng, dtype, (1,))[0])
    return [np.ascontiguousarray(data.transpose(permutation("NHWC", layout)))], attrs
