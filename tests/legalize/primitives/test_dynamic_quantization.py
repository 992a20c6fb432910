"""dynamic_encoding and dynamic_quantize in Relax primitives."""

import numpy as np
import pytest

import legalize
from qnn_ops import dynamic_encoding, dynamic_quantize
from tests.qnn_ops.quantized.test_dynamic_quantization import rows
from tests.support.operators import check_operator, module_of, run
from tvm_qnn import host_target


@pytest.mark.parametrize("asymmetric", [False, True])
def test_primitives_equal_the_reference(asymmetric: bool) -> None:
    rng = np.random.default_rng(2)
    data = np.concatenate([rows(rng, kind, (50, 9)) for kind in range(4)])
    data[0, 3], data[1, 4], data[2, 0], data[3] = np.nan, np.inf, -np.inf, np.nan
    check_operator(dynamic_encoding, [data.reshape(4, 50, 9)], asymmetric=asymmetric)
    if asymmetric:
        attrs = {"asymmetric": True, "arithmetic": "onnxruntime"}
        check_operator(dynamic_encoding, [data.reshape(4, 50, 9)], **attrs)
        check_operator(dynamic_encoding, [data.reshape(4, 50, 9)], **attrs, whole=True)


@pytest.mark.parametrize("out_dtype", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("asymmetric", "arithmetic"), [(False, "tflite"), (True, "tflite"), (True, "onnxruntime")]
)
def test_primitives_equal_the_reference_of_dynamic_quantize(
    asymmetric: bool, arithmetic: str, out_dtype: str
) -> None:
    rng = np.random.default_rng(3)
    data = np.concatenate([rows(rng, kind, (50, 9)) for kind in range(4)])
    encoding = dynamic_encoding.evaluate(data, asymmetric, arithmetic=arithmetic)
    data[0], data[1, 3], data[2, 4] = np.nan, np.inf, -1e30
    attrs = {"out_dtype": out_dtype, "arithmetic": arithmetic}
    expected = check_operator(dynamic_quantize, [data, encoding], **attrs)
    # No fused multiply-add where the processor has one.
    lowered = legalize.LegalizeQnn()(module_of(dynamic_quantize, [data, encoding], **attrs))
    np.testing.assert_array_equal(run(lowered, [data, encoding], host_target()), expected)
