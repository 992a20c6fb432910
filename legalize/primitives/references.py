"""Operators whose primitives are their references, called with expressions."""

from functools import partial
from typing import Any

from tvm import relax
from tvm.relax import Expr

import qnn_ops
from legalize.primitives.registry import PRIMITIVES, Builder, primitive
from qnn_ops.dialect.expressions import emitted
from qnn_ops.dialect.registry import Attrs, Operator, constant_of
from qnn_ops.quantized.quantization import dequantize

REFERRED: set[str] = set()
"""The names of the operators whose reference is their rule."""


def add_references() -> None:
    """Let the reference of each operator that has no rule of its own be its rule."""
    for operator in (getattr(qnn_ops, name) for name in qnn_ops.__all__):
        if isinstance(operator, Operator) and operator.op.name not in PRIMITIVES:
            primitive(operator)(partial(by_reference, operator))
            REFERRED.add(operator.name)


def by_reference(operator: Operator[Any], builder: Builder, attrs: Attrs, *operands: Expr) -> Expr:
    """Return what an operator's reference computes from expressions."""
    return emitted(builder, operator.compute, attrs, *operands)


@primitive(dequantize)
def _dequantize(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    known = constant_of(data)
    if known is not None:  # numpy is faster than code for one run
        return relax.const(dequantize.apply(attrs, known), "float32")
    return by_reference(dequantize, builder, attrs, data)
