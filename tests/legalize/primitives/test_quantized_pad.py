from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qnn_ops import quantized_pad
from tests.support.arrays import full_range
from tests.support.operators import check_operator


@given(st.data())
@settings(max_examples=15)
def test_primitives_equal_the_reference(draw: st.DataObject) -> None:
    rng = np.random.default_rng(draw.draw(st.integers(0, 2**32 - 1)))
    dtype = draw.draw(st.sampled_from(["int8", "uint8"]))
    shape = tuple(draw.draw(st.lists(st.integers(1, 4), max_size=4)))
    # At least one: without any no code is left, which TVM can only run with a C compiler.
    widths = [draw.draw(st.integers(0, 3)) for _ in range(2 * len(shape))]
    assume(any(widths))
    check_operator(
        quantized_pad,
        [full_range(rng, dtype, shape)],
        pad_width=widths,
        pad_value=full_range(rng, dtype, ()).item(),
    )
