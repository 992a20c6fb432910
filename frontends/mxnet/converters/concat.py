"""Operators that join floats, repeat them or pad them."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from qnn_ops.checks import check_axis
from qnn_ops.errors import QnnError


@converter("Concat", "concat")
def convert_concat(ctx: Context) -> relax.Expr:
    """Concatenate all inputs along an axis."""
    shapes = [ctx.shape(position) for position in range(_count(ctx))]
    axis = check_axis(ctx.attrs.integer("dim", 1), len(shapes[0]))
    others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(others) != 1 or len({len(shape) for shape in shapes}) != 1:
        raise QnnError(f"the inputs must have one shape except for axis {axis}, got {shapes}")
    return R.concat(ctx.exprs(), axis)


@converter("stack")
def convert_stack(ctx: Context) -> relax.Expr:
    """Stack all inputs along a new axis."""
    shapes = [ctx.shape(position) for position in range(_count(ctx))]
    if len(set(shapes)) != 1:
        raise QnnError(f"the inputs must have one shape, got {shapes}")
    axis = check_axis(ctx.attrs.integer("axis", 0), len(shapes[0]) + 1)
    return R.stack(ctx.exprs(), axis)


def _count(ctx: Context) -> int:
    count = ctx.attrs.integer("num_args", ctx.arity)
    if count != ctx.arity or count < 1:
        raise QnnError(f"attribute num_args is {count}, there are {ctx.arity} inputs")
    return count


@converter("tile")
def convert_tile(ctx: Context) -> relax.Expr:
    """Return the whole tensor several times along each axis."""
    repeats = ctx.attrs.integers("reps")
    if not repeats or min(repeats) < 1:
        raise QnnError(f"attribute reps must be numbers of at least 1, got {list(repeats)}")
    return R.tile(ctx.expr(0), repeats)


@converter("repeat")
def convert_repeat(ctx: Context) -> relax.Expr:
    """Repeat each slice along an axis; without an axis, each value."""
    repeats = ctx.attrs.integer("repeats")
    if repeats < 1:
        raise QnnError(f"attribute repeats must be at least 1, got {repeats}")
    axis = ctx.attrs.integer("axis") if ctx.attrs.has("axis") else None
    if axis is not None:
        check_axis(axis, len(ctx.shape(0)))
    return R.repeat(ctx.expr(0), repeats, axis)


@converter("UpSampling")
def convert_up_sampling(ctx: Context) -> relax.Expr:
    """Repeat each pixel, to the right and below."""
    if ctx.attrs.text("sample_type") != "nearest" or ctx.arity != 1:
        raise UnsupportedError("only sample_type nearest of a single input is supported")
    scale = ctx.attrs.integer("scale")
    if len(ctx.shape(0)) != 4 or scale < 1:
        raise QnnError(
            f"the data must have 4 dimensions and scale be at least 1, got {ctx.shape(0)} and "
            f"{scale}"
        )
    height, width = (size * scale for size in ctx.shape(0)[2:])
    return R.image.resize2d(
        ctx.expr(0),
        (height, width),
        layout="NCHW",
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
        rounding_method="floor",
    )


_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


@converter("Pad", "pad")
def convert_pad(ctx: Context) -> relax.Expr:
    """Pad with a constant, with the values at the edge, or with reflected values."""
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
