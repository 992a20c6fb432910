from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tvm_qnn import relay
from tvm_qnn.relay.frontend import mxnet_qnn_op_utils as utils


def test_scales_are_those_of_the_larger_end() -> None:
    assert utils.get_mkldnn_int8_scale(-2.0, 1.0) == np.float32(1 / (np.float32(127.5) / 2))
    assert utils.get_mkldnn_uint8_scale(0.0, 4.0) == np.float32(1 / (np.float32(255.5) / 4))
    assert utils.get_conv_mkldnn_requantized_scale_outDtype(0.0, 4.0) == (
        utils.get_mkldnn_uint8_scale(0.0, 4.0),
        "uint8",
    )
    assert utils.get_conv_mkldnn_requantized_scale_outDtype(-1.0, 4.0)[1] == "int8"


@pytest.mark.parametrize(("dtype", "levels"), [("int8", 127.5), ("uint8", 255.5)])
def test_values_come_back_within_half_a_step(dtype: str, levels: float) -> None:
    x = relay.var("x", (5,))
    integers, scale, point = utils.quantize_mxnet_min_max(x, -1.0, 3.0, dtype)
    assert point == 0
    back = utils.dequantize_mxnet_min_max(integers, -1.0, 3.0, dtype)
    values = np.array([0.0, 0.5, 1.25, 2.0, 2.9], np.float32)
    found = relay.create_executor().evaluate(relay.Function([x], back))(values).numpy()
    assert np.abs(found - values).max() <= 3 / levels / 2 * 1.0001
    assert scale == pytest.approx(3 / levels)


def test_other_dtypes_are_named() -> None:
    with pytest.raises(QnnError, match="int8 or uint8, got 'int16'"):
        utils.quantize_mxnet_min_max(relay.var("x", (5,)), -1.0, 1.0, "int16")
