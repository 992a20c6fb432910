from __future__ import annotations

import numpy as np

from tests.support.modules import adder
from tvm_qnn import relay
from tvm_qnn.relay.testing import TempOpAttr, generate_ref_data, run_infer_type, run_opt_pass


def test_types() -> None:
    x = relay.var("x", shape=(2, 3), dtype="int8")
    product = x * x  # made by Relax, without a type
    assert run_infer_type(product).checked_type == relay.TensorType((2, 3), "int8")
    with TempOpAttr("qnn.conv2d", "FTVMQnnLegalize", None):
        function = run_opt_pass(product, relay.transform.InferType())
    assert function.params[0].name_hint == "x"


def test_reference_outputs() -> None:
    w = np.ones((2, 3), np.int8)
    outputs = generate_ref_data(adder(), {"x": w, "w": w})
    assert list(outputs) == ["output"]
    assert outputs["output"].tolist() == [[2] * 3] * 2
