"""ONNX models of a few nodes, on ONNX Runtime and compiled here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import LeftInFloatWarning

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

Array = np.ndarray[Any, Any]
Node = tuple[Any, ...]
"""An operator, the names of its operands and of its results, and its attributes."""

MICROSOFT = {
    *("BiasGelu", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"),
    *("Attention", "EmbedLayerNormalization", "FastGelu", "GatherBlockQuantized", "MatMulNBits"),
    *("GroupQueryAttention", "RotaryEmbedding"),
    *("MultiHeadAttention", "QAttention", "QEmbedLayerNormalization", "QGemm", "QuickGelu"),
    *("FusedConv", "FusedGemm", "FusedMatMul", "MatMulBnb4", "MatMulInteger16"),
    *("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"),
}


def model_of(
    nodes: Sequence[Node],
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    constants: Mapping[str, Any],
    opset: int = 17,
    standard: Sequence[str] = (),
) -> Any:
    """Return a model.

    Of operators that ONNX Runtime has, too, those that ``standard`` names are the standard's.
    Operands and results are words of one text, ``_`` for none. An output that is not float32 has
    its dtype behind a colon.
    """
    helper = onnx.helper
    made = [
        helper.make_node(
            op,
            ["" if name == "_" else name for name in operands.split()],
            ["" if name == "_" else name for name in results.split()],
            domain="com.microsoft" if op in MICROSOFT and op not in standard else "",
            **attributes,
        )
        for op, operands, results, attributes in nodes
    ]
    given = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in inputs.items()
    ]
    wanted = []
    for text in outputs:
        name, _, dtype = text.partition(":")
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or "float32"))
        wanted.append(helper.make_tensor_value_info(name, kind, None))
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()
    ]
    graph = helper.make_graph(made, "graph", given, wanted, tensors)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 21 else 10)
    for value, array in zip(model.graph.output, on_runtime(model, inputs), strict=True):
        # The package's checker wants to know it.
        for size in array.shape:
            value.type.tensor_type.shape.dim.add().dim_value = size
        value.type.tensor_type.shape.SetInParent()
    return model


def on_runtime(model: Any, inputs: Mapping[str, Array]) -> list[Array]:
    """Return the outputs of ONNX Runtime, with all that it fuses."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.intra_op_num_threads = 1  # several would take the range of a part of a batch each
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers)
    return list(session.run(None, dict(inputs)))


def compiled(
    model: Any,
    inputs: Mapping[str, Array],
    target: Any = "host",
    *,
    in_float: bool = False,
    **options: Any,
) -> list[Array]:
    """Return the outputs of the model as it is compiled here; some operators may be in float."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if in_float:
            warnings.simplefilter("ignore", LeftInFloatWarning)
        mod, params = from_onnx(model)
        library = qnn.build(mod, target, params, **options)
    result = library.run(*inputs.values())
    return list(result.values()) if isinstance(result, dict) else [result]


def check_equal(
    model: Any, inputs: Mapping[str, Array], *, primitives: bool = False, in_float: bool = False
) -> list[Array]:
    """Compare every bit, through kernels, and perhaps through primitives; return the outputs."""
    expected = on_runtime(model, inputs)
    for kernels in (True, False) if primitives else (True,):
        actual = compiled(model, inputs, in_float=in_float, kernels=kernels)
        for ours, theirs in zip(actual, expected, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs, err_msg=f"kernels={kernels}")
    return expected


def steps_apart(ours: Array, theirs: Array) -> int:
    """Return how many float32 lie between two arrays at most."""
    places = [array.astype(np.float32).view(np.int32).astype(np.int64) for array in (ours, theirs)]
    ordered = [np.where(place < 0, -(2**31) - place, place) for place in places]
    return int(np.abs(ordered[0] - ordered[1]).max(initial=0))
