"""The index of the largest or the smallest element."""

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from qnn_ops.dialect.registry import spec_of

_WIDER = {
    "bool": "int8",
    "int8": "int16",
    "uint8": "int16",
    "int16": "int32",
    "int32": "int64",
    "float32": "float64",
}


def index_of(
    function: Callable[..., relax.Expr], data: relax.Expr, axis: int | None, keepdims: bool = False
) -> relax.Expr:
    """Return Relax's argmax or argmin, right for every value.

    TVM starts from index -1 with the worst value of the dtype. This value wins if no element is
    better: -1 was the answer for a row of 255 alone. A wider dtype has a worse value. Only an
    infinity is worse still, and then no element of the row is better than the first.

    Args:
        function: ``relax.op.argmax`` or ``relax.op.argmin``.
        data: a tensor whose type is known.
        axis: the axis; None for all elements.
        keepdims: whether the axis stays, with size 1.

    Returns:
        int64.
    """
    dtype = spec_of(data).dtype
    wide = R.astype(data, _WIDER[dtype]) if dtype in _WIDER else data
    return R.maximum(function(wide, axis, keepdims), relax.const(0, "int64"))
