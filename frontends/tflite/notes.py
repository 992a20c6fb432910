"""Warnings about a whole model: sums that wrap, operators that TFLM computes otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from frontends.errors import UnsupportedError
from frontends.tflite.converters.comparisons import compared_by_scale
from frontends.tflite.model import HANDLE, Model, Operator


class WrappingSumsWarning(UserWarning):
    """Sums of products can leave int32; what comes of them is no answer a model was made for."""


def warn_of_wrapping(found: Sequence[tuple[str, str]]) -> None:
    """Warn the caller of the importer once about a model.

    Args:
        found: for each operator whose sums can wrap: which it is, and how far they go.
    """
    (where, reached), *others = found
    more = f"; {len(others)} more operators have such sums" if others else ""
    warnings.warn(
        f"{where}: {reached}: it wraps, as in LiteRT's builds, where data is that extreme{more}",
        WrappingSumsWarning,
        stacklevel=5,
    )


ARITHMETIC = (
    *("ADD", "AVERAGE_POOL_2D", "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D"),
    *("FULLY_CONNECTED", "HARD_SWISH", "LOGISTIC", "LOG_SOFTMAX", "MAX_POOL_2D", "MEAN"),
    *("RELU", "RELU6", "RESIZE_BILINEAR", "SOFTMAX", "SQUARED_DIFFERENCE", "SUB", "TANH"),
    "TRANSPOSE_CONV",
)
"""Operators of int8 data. All but FULLY_CONNECTED, RELU and RELU6 give LiteRT's integers.

ABS, DIV, LEAKY_RELU, MUL and PRELU do so but at ties: TFLM computes their multipliers in float64.
"""

MOVES = (
    *("BATCH_TO_SPACE_ND", "BROADCAST_TO", "CONCATENATION", "DEPTH_TO_SPACE", "EXPAND_DIMS"),
    *("DYNAMIC_UPDATE_SLICE", "FILL", "GATHER", "GATHER_ND", "MIRROR_PAD", "PACK", "PAD", "PADV2"),
    *("RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SELECT_V2", "SLICE", "SPACE_TO_DEPTH"),
    *("SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK"),
    *("ARG_MAX", "ARG_MIN", "MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN"),
    *("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"),
    *("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR"),
    *("ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "VAR_HANDLE"),
)
"""Operators that move values, compare them or choose among them."""

FLOATS = ("QUANTIZE", "DEQUANTIZE")
"""Operators between int8 and float32."""

_DTYPES = {
    **dict.fromkeys(ARITHMETIC, frozenset({"int8"})),
    **dict.fromkeys(MOVES, frozenset({"int8", "int32", "bool", HANDLE})),
    **dict.fromkeys(FLOATS, frozenset({"int8", "float32"})),
}


def check_micro(model: Model, operator: Operator) -> None:
    """Raise unless an operator here gives what it does in TFLM.

    Raises:
        UnsupportedError: it does not, or not for tensors of such types, or of several scales or
            none.
    """
    dtypes = _DTYPES.get(operator.code)
    if dtypes is None:
        raise UnsupportedError("what TFLM computes for it is not computed here")
    read = [model.tensors[index] for index in operator.inputs if index >= 0]
    written = [model.tensors[index] for index in operator.outputs]
    found = {tensor.dtype for tensor in (*read, *written) if not tensor.is_constant}
    if others := found - dtypes:
        names = ", ".join(sorted(others))
        raise UnsupportedError(
            f"what TFLM computes for tensors of type {names} is not computed here"
        )
    for tensor in (*read, *written) if operator.code in FLOATS else ():
        if tensor.quantization is not None and tensor.quantization.is_per_channel:
            raise UnsupportedError(f"TFLM takes the first scale of {tensor.label} for all of it")
    for tensor in (*read, *written) if operator.code in (*ARITHMETIC, *FLOATS) else ():
        if tensor.dtype == "int8" and tensor.quantization is None and not tensor.is_constant:
            raise UnsupportedError(f"{tensor.label} has no scale, of which TFLM computes another")


_QUANTIZED = ("int8", "uint8", "int16", "float16")


class NotQuantizedWarning(UserWarning):
    """No tensor of the model is quantized, so it is computed in float32."""


def warn_of_floats(model: Model) -> None:
    """Warn the caller of the importer once, if all tensors of a model are float32."""
    graphs = (model, *model.subgraphs)
    if any(tensor.dtype in _QUANTIZED for graph in graphs for tensor in graph.tensors):
        return
    computed = (graph.tensors[index] for graph in graphs for index in graph.computed)
    if any(tensor.dtype == "float32" for tensor in computed):
        warnings.warn(
            "no tensor of this model is quantized; all of it is computed in float32, as near to "
            "LiteRT's as the order of sums allows",
            NotQuantizedWarning,
            stacklevel=5,
        )


class WrongInLiteRTWarning(UserWarning):
    """LiteRT gives wrong results, and the imported model gives the same, bit for bit."""


def warn_of_comparisons(model: Model) -> None:
    """Warn the caller of the importer once, if a model compares values of scales above 1."""
    found = []
    for graph in (model, *model.subgraphs):
        for operator in graph.operators:
            for tensor in (graph.tensors[index] for index in operator.inputs):
                known = tensor.quantization
                if known and known.scale[0] > 1 and compared_by_scale(operator.code, tensor):
                    text = f"{tensor.label} has the scale {known.scale[0]:.6g}"
                    found.append(f"operator {operator.index} {operator.code}: {text}")
    if found:
        more = f"; {len(found) - 1} more operands are such" if found[1:] else ""
        warnings.warn(
            f"{found[0]}: above 1, LiteRT's kernel tells nothing but the signs of such "
            f"values apart, and so does this{more}",
            WrongInLiteRTWarning,
            stacklevel=5,
        )
