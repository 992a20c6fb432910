from __future__ import annotations

import numpy as np
import pytest

import legalize
from qnn_ops import float_function
from tests.qnn_ops.test_float_function import numbers
from tests.support.operators import check_operator, module_of, run
from tvm_qnn import host_target


@pytest.mark.parametrize("function", ["erf", "exp"])
def test_primitives_equal_the_reference(function: str) -> None:
    data = numbers()[-21_009:].reshape(3, -1)
    if function == "exp":
        data = -np.abs(data) * 9
    expected = check_operator(float_function, [data], function=function)
    # As vector code, too.
    lowered = legalize.LegalizeQnn()(module_of(float_function, [data], function=function))
    np.testing.assert_array_equal(run(lowered, [data], host_target()), expected)
