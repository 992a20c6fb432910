"""Which operators here give the integers of TFLM: LiteRT for Microcontrollers."""

from __future__ import annotations

from frontends.errors import UnsupportedError
from frontends.tflite.model import HANDLE, Model, Operator

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
