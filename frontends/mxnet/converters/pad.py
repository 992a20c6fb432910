"""Pad of floats."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from qnn_ops.errors import QnnError

_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


@converter("Pad", "pad")
def convert_pad(ctx: Context) -> relax.Expr:
    """Surround by a constant, by the values at the edge, or by those that it reflects."""
    shape, widths = ctx.shape(0), ctx.attrs.integers("pad_width")
    mode = ctx.attrs.text("mode", None, tuple(_MODES))
    if len(widths) != 2 * len(shape) or min(widths) < 0:
        raise QnnError(
            f"attribute pad_width must be {2 * len(shape)} numbers of at least 0, "
            f"got {list(widths)}"
        )
    widest = [max(widths[2 * axis : 2 * axis + 2]) for axis in range(len(shape))]
    if mode == "reflect" and any(wide >= size for wide, size in zip(widest, shape, strict=True)):
        raise QnnError(f"a shape of {shape} cannot reflect a pad_width of {list(widths)}")
    value = ctx.attrs.real("constant_value", 0)
    return R.nn.pad(ctx.expr(0), widths, _MODES[mode], value)
