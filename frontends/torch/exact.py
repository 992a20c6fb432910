"""Functions of float32 that the delegate or TVM computes differently from PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.torch.parts import CLAMP, CLAMPING, EXTREMES, clamp, extreme
from frontends.torch.reader import operator_of, values_of
from qnn_ops.dialect.registry import spec_of

_PAIRS = ("maximum.default", "minimum.default", "max.other", "min.other")


def _gelu(node: Any, importer: Any) -> relax.Var:
    data, approximate = values_of(node)
    function = R.nn.gelu_tanh if approximate == "tanh" else R.nn.gelu
    result: relax.Var = importer.block_builder.emit(function(importer.env[data]))
    return result


def _bounded(node: Any, importer: Any) -> Any:
    """Bound numbers; NaN stays NaN."""
    name, emit = operator_of(node), importer.block_builder.emit
    if name == CLAMP:
        result = clamp(node, importer)
    else:
        result = type(importer).create_convert_map(importer)[name](node)
    for each in node.all_input_nodes:
        data = importer.env[each]
        if spec_of(data).dtype == spec_of(result).dtype == "float32":
            result = emit(R.where(emit(R.isnan(data)), data, result))
    return result


def _extreme(node: Any, importer: Any) -> Any:
    """Reduce by a maximum or a minimum; one NaN makes the result NaN."""
    result, emit = extreme(node, importer), importer.block_builder.emit
    data, axes, keeps = values_of(node)
    tensor = importer.env[data]
    if spec_of(tensor).dtype != "float32":
        return result
    odd = emit(R.astype(emit(R.isnan(tensor)), "float32"))
    count = emit(R.max(odd, [int(axis) for axis in axes] or None, keepdims=bool(keeps)))
    is_odd = emit(R.greater(count, relax.const(0.0, "float32")))
    return emit(R.where(is_odd, relax.const(float("nan"), "float32"), result))


EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "gelu.default": _gelu,
    CLAMP: _bounded,
    **dict.fromkeys((*CLAMPING, *_PAIRS), _bounded),
    **dict.fromkeys(EXTREMES, _extreme),
}
"""The rules by the names of operators."""
