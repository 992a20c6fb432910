"""Attributes of operators that move a window over an image: convolutions and poolings."""

from __future__ import annotations

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from qnn_ops.errors import QnnError

LAYOUTS = ("NCHW", "NHWC")


def image_layout(ctx: Context) -> str:
    """Return the layout of a two-dimensional image, which is the operator's first input.

    Raises:
        UnsupportedError: it has another number of spatial dimensions.
    """
    rank = len(ctx.shape(0))
    layout = ctx.attrs.text("layout", LAYOUTS[0])
    if rank != 4 or layout not in LAYOUTS:
        raise UnsupportedError(
            f"only images of layout {' or '.join(LAYOUTS)} are supported, got {layout} and "
            f"{rank} dimensions"
        )
    return layout


def image_size(ctx: Context, layout: str) -> tuple[int, int]:
    """Return height and width of the operator's first input."""
    shape = ctx.shape(0)
    return shape[layout.index("H")], shape[layout.index("W")]


def pair(ctx: Context, name: str, default: int | None, least: int) -> tuple[int, int]:
    """Return an attribute of one value for rows and one for columns; '()' means the default."""
    values = ctx.attrs.integers(name, () if default is not None else None)
    if not values and default is not None:
        values = (default, default)
    if len(values) != 2 or min(values) < least:
        raise QnnError(
            f"attribute {name} must be two numbers of at least {least}, got {list(values)}"
        )
    return values[0], values[1]
