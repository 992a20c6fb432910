"""Random operators on two quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tests.support.arrays import full_range


@st.composite
def elementwise_cases(draw: st.DrawFn, product: bool) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes; with ``product`` the output scale is near the scales' product."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4)).input_shapes
    dtypes = [draw(st.sampled_from(["int8", "uint8"])) for _ in range(3)]
    operands = [full_range(rng, dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=False)]
    exponents = rng.uniform(-12, 2, 2)
    # Mostly results that fill their range; sometimes all saturated or all zero.
    spread = draw(st.sampled_from([0, 1, 2, 3, -30, 30]))
    output = exponents.sum() + 6 if product else exponents.max()
    # Powers of two make ties frequent.
    powers = np.array([*exponents, output + spread])
    scales = np.exp2(np.round(powers) if draw(st.booleans()) else powers)
    attrs = {
        "lhs_scale": float(scales[0]),
        "lhs_zero_point": int(full_range(rng, dtypes[0], ())),
        "rhs_scale": float(scales[1]),
        "rhs_zero_point": int(full_range(rng, dtypes[1], ())),
        "output_scale": float(scales[2]),
        "output_zero_point": int(full_range(rng, dtypes[2], ())),
        "out_dtype": dtypes[2],
    }
    if draw(st.booleans()):
        attrs["out_min"], attrs["out_max"] = np.sort(full_range(rng, dtypes[2], (2,))).tolist()
    return operands, attrs
