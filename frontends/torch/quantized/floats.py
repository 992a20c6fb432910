"""The parts of a program that are computed in float32, quantized or not."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.torch.quantized.groups import PRODUCT, has_weight_layers, widened_bytes
from frontends.torch.reader import calls_of, is_call, is_quantizing, operator_of
from qnn_ops.arrays import Array

_FLOAT_PROGRAM = "a program of which nothing is quantized"
_WIDENED = (
    "integer weights that PT2E did not make, as those of torchao's quantize_, outside of dense "
    "layers: they are widened to float32"
)
_WEIGHTS = "float32 data of layers whose integer weights stay bytes in memory"
_MOVING = ("t.default", "transpose.int", "permute.default", "reshape.default", "view.default")
INT_PRODUCT = "_int_mm.default"
"""The product of byte matrices in PyTorch's own form of some layers of ``quantize_``."""

_KEEPING = (INT_PRODUCT, "sum.dim_IntList", "_assert_tensor_metadata.default")
_BYTES = (np.int8, np.uint8)


def left_in_float(program: Any, constants: Mapping[str, Array]) -> list[str]:
    """Return the reasons why parts of a program are computed in float32.

    Args:
        program: a program of supported operators.
        constants: its constants, by the names of their nodes.
    """
    is_widened = any(
        node.name in constants
        and constants[node.name].dtype in _BYTES
        and constants[node.name].ndim > 1
        and not all(_keeps(each, constants) for each in _readers(node))
        for node in program.graph.nodes
    )
    if is_widened:
        return [_WIDENED]
    if has_weight_layers(program, constants):
        return [_WEIGHTS]
    calls = calls_of(program)
    is_quantized = any(is_quantizing(each) or operator_of(each) == INT_PRODUCT for each in calls)
    return [] if is_quantized else [_FLOAT_PROGRAM]


def _readers(node: Any) -> list[Any]:
    """Return the nodes that compute with a tensor, directly or after moving its axes."""
    found: list[Any] = []
    pending = list(node.users)
    while pending:
        reader = pending.pop()
        is_moving = is_call(reader, *_MOVING)
        (pending if is_moving else found).extend(reader.users if is_moving else [reader])
    return found


def _keeps(reader: Any, constants: Mapping[str, Array]) -> bool:
    if reader.op == "output" or is_quantizing(reader):
        return True
    if widened_bytes(reader, constants) is not None:
        return all(operator_of(each) == PRODUCT for each in reader.users)
    return operator_of(reader) in _KEEPING


def quantizes_data(node: Any) -> bool:
    """Tell whether a node quantizes real numbers, in PT2E's form."""
    return is_quantizing(node) and operator_of(node).startswith("quantize_")
