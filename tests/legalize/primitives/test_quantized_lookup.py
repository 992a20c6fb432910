from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import quantized_lookup
from tests.support.arrays import every_value, full_range
from tests.support.operators import check_operator


@pytest.mark.parametrize("table_dtype", ["int8", "uint8"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_primitives_equal_the_reference(dtype: str, table_dtype: str) -> None:
    rng = np.random.default_rng(6)
    data = rng.permutation(every_value(dtype)).reshape(4, 64)
    check_operator(quantized_lookup, [data, full_range(rng, table_dtype, (256,))])
