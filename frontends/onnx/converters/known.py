"""Facts about an operand at import: its constant value, or that a DequantizeLinear makes it."""

from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from qnn_ops import dequantize
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of

Array = np.ndarray[Any, Any]


def value_of(builder: relax.BlockBuilder, expr: relax.Expr) -> relax.Expr | None:
    """Return the value of a variable, None for an input; other expressions as they are."""
    return builder.lookup_binding(expr) if isinstance(expr, relax.Var) else expr


def is_dequantized(builder: relax.BlockBuilder, expr: relax.Expr) -> bool:
    """Tell whether an operand is the result of a DequantizeLinear."""
    return operator_of(value_of(builder, expr)) is dequantize


def known_array(builder: relax.BlockBuilder, expr: relax.Expr) -> Array | None:
    """Return the value of a constant or of a dequantized constant; otherwise None."""
    if not is_dequantized(builder, expr):
        return constant_of(expr)
    call: Any = value_of(builder, expr)
    integers = constant_of(call.args[0])
    return None if integers is None else np.asarray(dequantize.apply(attrs_of(call), integers))


def known_number(builder: relax.BlockBuilder, expr: relax.Expr) -> float | None:
    """Return the number of a constant or dequantized constant of one element; otherwise None."""
    known = known_array(builder, expr)
    return None if known is None or known.size != 1 else float(known.item())


def one_number(expr: relax.Expr, name: str) -> int:
    """Return the integer of a constant.

    Args:
        expr: an operand.
        name: the operand's role, for the error.

    Raises:
        UnsupportedError: it is no constant, or has several numbers.
    """
    known = constant_of(expr)
    if known is None or known.size != 1:
        raise UnsupportedError(f"{name} must be one constant number")
    return int(known.item())
