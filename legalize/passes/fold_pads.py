"""Let convolutions do the padding of the operator before them."""

import tvm
from tvm import relax

from legalize.passes.rewriter import CallRewriter, call_pass
from qnn_ops import quantized_conv2d, quantized_pad
from qnn_ops.dialect.registry import Attrs, attrs_of, with_attrs


def FoldPads() -> tvm.transform.Pass:
    """Fold ``quantized_pad`` into the ``padding`` of the convolution that reads it.

    Only rows and columns may be padded, and the value must be the input zero point, as in a
    convolution.
    """
    return call_pass({quantized_conv2d.op.name: _padded}, "FoldPads")


def _padded(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr | None:
    pad, attrs = writer.producer(call.args[0], quantized_pad), attrs_of(call)
    padding = None if pad is None else _spatial_padding(attrs, attrs_of(pad))
    if pad is None or padding is None:
        return None
    widths = [own + more for own, more in zip(attrs.padding, padding, strict=True)]
    folded = with_attrs(call, padding=widths)
    return relax.Call(folded.op, [pad.args[0], *folded.args[1:]], folded.attrs)


def _spatial_padding(conv: Attrs, pad: Attrs) -> tuple[int, int, int, int] | None:
    """Return the pad as (top, left, bottom, right); None if the convolution cannot do it."""
    if pad.pad_value != conv.input_zero_point:
        return None
    widths = {
        letter: (pad.pad_width[2 * axis], pad.pad_width[2 * axis + 1])
        for axis, letter in enumerate(conv.data_layout)
    }
    if any(widths["N"]) or any(widths["C"]):
        return None
    return widths["H"][0], widths["W"][0], widths["H"][1], widths["W"][1]
