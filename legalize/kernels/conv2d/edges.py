"""What a convolution knows of the edges of its data: padding that the kernel before it wrote."""

from __future__ import annotations

from tvm import relax, tirx

from legalize.kernels.conv2d.spec import Border

Widths = tuple[int, int, int, int]

_BORDER = "qnn.border"


def tell_border(function: tirx.PrimFunc, border: Border) -> tirx.PrimFunc:
    """Return a function that tells what it writes around its output."""
    return function.with_attr(_BORDER, [*border.widths, border.value])


def edges_of(builder: relax.BlockBuilder, data: relax.Expr, zero_point: int) -> Widths:
    """Return the pixels at the top, left, bottom and right of data that hold its zero point.

    Args:
        builder: of the module.
        data: of a convolution.
        zero_point: of the data.

    Returns:
        What the function that makes the data tells; no pixels if it tells nothing.
    """
    while isinstance(data, relax.Var):
        data = builder.lookup_binding(data)
    is_kernel = isinstance(data, relax.Call) and isinstance(data.args[0], relax.GlobalVar)
    border = builder.get()[data.args[0]].attrs.get(_BORDER) if is_kernel else None
    if border is None:
        return 0, 0, 0, 0
    top, left, bottom, right, value = (int(each) for each in border)
    return (top, left, bottom, right) if value == zero_point else (0, 0, 0, 0)
