"""Single ONNX operators and whole models, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

Array = np.ndarray[Any, Any]

OPSETS = {"": 21, "com.microsoft": 1}


def run_operator(
    name: str,
    operands: Mapping[str, Array],
    out_dtype: str,
    feeds: tuple[str, ...],
    domain: str = "com.microsoft",
    **attributes: Any,
) -> Array:
    """Return an operator's results.

    Args:
        name: of the operator.
        operands: by any names, in their order.
        out_dtype: of the result.
        feeds: the names of operands that are the model's inputs; the others are constants.
        domain: of the operator.
        attributes: of the operator.
    """
    helper = onnx.helper
    element = {key: helper.np_dtype_to_tensor_dtype(a.dtype) for key, a in operands.items()}
    node = helper.make_node(name, list(operands), ["result"], domain=domain, **attributes)
    inputs = [
        helper.make_tensor_value_info(key, element[key], operands[key].shape) for key in feeds
    ]
    result = helper.make_tensor_value_info(
        "result", helper.np_dtype_to_tensor_dtype(np.dtype(out_dtype)), None
    )
    constants = [
        onnx.numpy_helper.from_array(array, key)
        for key, array in operands.items()
        if key not in feeds
    ]
    graph = helper.make_graph([node], "one", inputs, [result], constants)
    versions = [helper.make_opsetid(key, version) for key, version in OPSETS.items()]
    model = helper.make_model(graph, opset_imports=versions, ir_version=10)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (array,) = session.run(None, {key: operands[key] for key in feeds})
    return np.asarray(array)
