"""The parts of a program that are computed in float32, quantized or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.torch.reader import calls_of, operator_of

Array = np.ndarray[Any, Any]

_FLOAT_PROGRAM = "a program of which nothing is quantized"
_WIDENED = (
    "integer weights that PT2E did not make, as those of torchao's quantize_: they are widened to "
    "float32, data that a run would quantize is rounded as PyTorch does it"
)
_MOVING = ("t.default", "transpose.int", "permute.default", "reshape.default", "view.default")
INT_PRODUCT = "_int_mm.default"
"""The product of matrices of bytes, by which PyTorch computes some layers of ``quantize_``."""

_SUM = "sum.dim_IntList"
_BYTES = (np.int8, np.uint8)


def left_in_float(program: Any, constants: Mapping[str, Array]) -> list[str]:
    """Return why parts of a program are computed in float32.

    Args:
        program: a program of supported operators.
        constants: its constants, by the names of their nodes.
    """
    is_widened = any(
        node.name in constants
        and constants[node.name].dtype in _BYTES
        and constants[node.name].ndim > 1
        and not all(map(_keeps, _readers(node)))
        for node in program.graph.nodes
    )
    if is_widened:
        return [_WIDENED]
    calls = calls_of(program)
    is_quantized = any(_is_quantizing(each) or operator_of(each) == INT_PRODUCT for each in calls)
    return [] if is_quantized else [_FLOAT_PROGRAM]


def _readers(node: Any) -> list[Any]:
    """Return the nodes that compute with a tensor, directly or after moving its axes."""
    found: list[Any] = []
    pending = list(node.users)
    while pending:
        reader = pending.pop()
        is_moving = reader.op == "call_function" and operator_of(reader) in _MOVING
        (pending if is_moving else found).extend(reader.users if is_moving else [reader])
    return found


def _keeps(reader: Any) -> bool:
    if reader.op == "output" or _is_quantizing(reader):
        return True
    return operator_of(reader) in (INT_PRODUCT, _SUM)


def _is_quantizing(node: Any) -> bool:
    return str(node.target).startswith("quantized_decomposed.")
