"""quantized_lookup in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const
from legalize.primitives.registry import primitive
from qnn_ops.attributes import dtype_range
from qnn_ops.quantized_lookup import quantized_lookup
from qnn_ops.registry import Attrs, spec_of


def lookup(data: relax.Expr, table: relax.Expr) -> relax.Expr:
    """Look up 8-bit ``data`` in ``table``; the lowest value names the first entry."""
    lowest, _ = dtype_range(spec_of(data).dtype)
    index = R.subtract(R.astype(data, "int32"), const(lowest, "int32"))
    # Every 8-bit value has an entry, so nothing is clipped; "fast" makes TVM print a warning.
    return R.take(table, index, axis=0, mode="clip")


@primitive(quantized_lookup)
def _quantized_lookup(
    _builder: relax.BlockBuilder, _attrs: Attrs, data: relax.Expr, table: relax.Expr
) -> relax.Expr:
    return lookup(data, table)
