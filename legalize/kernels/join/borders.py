"""Concatenations, and functions of a byte, that write the padding of their readers."""

from collections.abc import Callable
from functools import partial

from tvm import relax

from legalize.kernels.border import border_for
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.x86 import AMX, ISAS
from legalize.kernels.isa.x86_vectors import VECTORS
from legalize.kernels.join.rules import RULES
from legalize.kernels.kernel import Builder, Lowered
from qnn_ops.dialect.registry import attrs_of


def _with_border(
    builder: Builder,
    call: relax.Call,
    reader: relax.Call,
    *,
    rule: Callable[..., relax.Expr | None],
    isa: VectorIsa,
) -> Lowered:
    border = border_for(call, reader)
    if border is None:
        return None
    return rule(builder, attrs_of(call), list(call.args), isa=isa, border=border)


BORDERS = [
    (
        operator,
        (*conv.features, *vectors.features),
        partial(_with_border, rule=rule, isa=vectors),
    )
    for conv in (AMX, *ISAS)
    # Without byte products, the readers widen their data when they pad it.
    if conv.has_byte_products
    for vectors in VECTORS
    for operator, rule in RULES
]
"""Rules ``rule(builder, call, reader)``: see ``table.BORDERS``."""
