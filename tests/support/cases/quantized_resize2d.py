"""Random resizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from qnn_ops.dialect.layouts import permutation
from tests.support.arrays import full_range


@st.composite
def resizes(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    layout = draw(st.sampled_from(["NHWC", "NCHW"]))
    image = [draw(st.integers(1, 9)) for _ in range(2)]
    data = full_range(rng, dtype, (draw(st.integers(1, 2)), *image, draw(st.integers(1, 3))))
    centers = [(False, False), (True, False), (False, True)]
    align_corners, half_pixel_centers = draw(st.sampled_from(centers))
    return [np.ascontiguousarray(data.transpose(permutation("NHWC", layout)))], {
        "size": [draw(st.integers(1, 20)) for _ in range(2)],
        "method": draw(st.sampled_from(["bilinear", "bilinear", "nearest_neighbor"])),
        "align_corners": align_corners,
        "half_pixel_centers": half_pixel_centers,
        "layout": layout,
    }
