"""quantized_lookup, quantized_relu and quantized_softmax in Relax primitives."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qnn_ops import quantized_lookup, quantized_relu
from tests.support.arrays import every_value, full_range
from tests.support.operators import check_operator


@pytest.mark.parametrize("table_dtype", ["int8", "uint8"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_primitives_equal_the_reference(dtype: str, table_dtype: str) -> None:
    rng = np.random.default_rng(6)
    data = rng.permutation(every_value(dtype)).reshape(4, 64)
    check_operator(quantized_lookup, [data, full_range(rng, table_dtype, (256,))])


DTYPES = st.sampled_from(["int8", "uint8"])


@given(
    DTYPES,
    DTYPES,
    st.sampled_from(["relu", "relu6", "relu_n1_to_1"]),
    st.floats(2.0**-8, 8, width=32),
    st.sampled_from([0.125, 1.0, 0.3]),
    st.integers(0, 127),
    st.integers(0, 127),
)
@example("int8", "uint8", "relu6", 0.125, 0.125, 0, 127)
@example("uint8", "int8", "relu", 0.125, 0.125, 127, 3)
@settings(max_examples=20)
def test_primitives_equal_the_reference_of_quantized_relu(
    dtype: str,
    out_dtype: str,
    kind: str,
    input_scale: float,
    output_scale: float,
    input_zero_point: int,
    output_zero_point: int,
) -> None:
    check_operator(
        quantized_relu,
        [every_value(dtype)],
        input_scale=input_scale,
        input_zero_point=input_zero_point,
        output_scale=output_scale,
        output_zero_point=output_zero_point,
        out_dtype=out_dtype,
        kind=kind,
    )
