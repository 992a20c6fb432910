"""The pixels that a kernel writes around its output, as the padding of the output's reader."""

from dataclasses import dataclass

from tvm import relax, tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import fill
from legalize.kernels.ir.vectors import DWORD, Buffer
from qnn_ops.dialect.registry import attrs_of, constant_of, spec_of

Widths = tuple[int, int, int, int]
Shape = tuple[int, int, int, int]

BORDER = "qnn.border"
"""The attribute of functions that write a border: its widths and its value."""


@dataclass(frozen=True)
class Border:
    """Pixels around an output.

    Attributes:
        widths: pixels at the top, left, bottom and right.
        value: the value of these pixels.
    """

    widths: Widths
    value: int

    def around(self, shape: Shape) -> Shape:
        """Return the shape of an output, NHWC, together with the border."""
        batch, height, width, channels = shape
        top, left, bottom, right = self.widths
        return batch, height + top + bottom, width + left + right, channels


def border_for(call: relax.Call, reader: relax.Call) -> Border | None:
    """Return the padding that a convolution needs around the result that it reads.

    Return None unless the reader's kernel takes the bytes as they are. It does not if it is
    depthwise, if its channels do not fill a K-step, or if it needs another signedness.
    """
    spec, reads = spec_of(call), attrs_of(reader)
    is_read_as_it_is = (
        reads.groups == 1
        and (reads.data_layout, reads.out_layout) == ("NHWC", "NHWC")
        and constant_of(reader.args[1]) is not None
        and spec.dtype == "uint8"
        and spec.shape[-1] >= DWORD
    )
    return Border(reads.padding, reads.input_zero_point) if is_read_as_it_is else None


def fill_border(border: Border, shape: Shape, target: Buffer) -> None:
    """Write the loops that fill a border.

    Args:
        border: the pixels.
        shape: the output's shape without them, NHWC, with all channels that are written.
        target: the tensor as one row.
    """
    batch, out_height, out_width, channels = shape
    top, left, bottom, right = border.widths
    _, height, width, _ = border.around(shape)
    row, inner = width * channels, out_width * channels
    with T.serial(batch) as n:
        first = n * height * row + top * row + left * channels
        fill(target, n * height * row, top * row + left * channels, border.value)
        if out_height > 1:
            # This is the right border of one row and the left border of the next.
            with T.serial(out_height - 1) as y:
                fill(target, first + y * row + inner, (right + left) * channels, border.value)
        last = first + (out_height - 1) * row + inner
        fill(target, last, right * channels + bottom * row, border.value)


def tell_border(function: tirx.PrimFunc, border: Border | None) -> tirx.PrimFunc:
    """Note in a function's attributes the border that it writes, if any."""
    if border is None:
        return function
    return function.with_attr(BORDER, [*border.widths, border.value])


def edges_of(builder: relax.BlockBuilder, data: relax.Expr, zero_point: int) -> Widths:
    """Return the pixels at the top, left, bottom and right of data that hold its zero point.

    Args:
        builder: the module's builder.
        data: the data of a convolution.
        zero_point: the data's zero point.

    Returns:
        The widths that the function that makes the data notes; zeros if it notes none.
    """
    while isinstance(data, relax.Var):
        data = builder.lookup_binding(data)
    is_kernel = isinstance(data, relax.Call) and isinstance(data.args[0], relax.GlobalVar)
    border = builder.get()[data.args[0]].attrs.get(BORDER) if is_kernel else None
    if border is None:
        return 0, 0, 0, 0
    top, left, bottom, right, value = (int(each) for each in border)
    return (top, left, bottom, right) if value == zero_point else (0, 0, 0, 0)
