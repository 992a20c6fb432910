import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tools.digits.network import initial_parameters
from tools.digits.quantize import quantize


def test_an_unknown_style_is_an_error() -> None:
    parameters = initial_parameters(np.random.default_rng(0))
    with pytest.raises(QnnError, match="style must be one of int8, uint8, got 'int4'"):
        quantize(parameters, np.zeros((1, 8, 8, 1)), "int4")
