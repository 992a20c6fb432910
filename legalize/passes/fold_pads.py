"""Let convolutions do the padding of the operator before them."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, module_pass, with_attrs
from qnn_ops import quantized_conv2d, quantized_pad
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of


@mutator
class _FoldPads(CallRewriter):
    def rewrite(
        self, operator: Operator[Any], original: relax.Call, call: relax.Call
    ) -> relax.Expr:
        if operator is not quantized_conv2d:
            return call
        pad = self.producer(call.args[0], quantized_pad)
        if pad is None:
            return call
        attrs = attrs_of(call)
        padding = _spatial_padding(attrs, attrs_of(pad))
        if padding is None:
            return call
        folded = with_attrs(
            call,
            padding=[own + more for own, more in zip(attrs.padding, padding, strict=True)],
        )
        return relax.Call(folded.op, [pad.args[0], *folded.args[1:]], folded.attrs)


def FoldPads() -> tvm.transform.Pass:
    """Fold ``quantized_pad`` into the ``padding`` of the convolution that reads it.

    Only rows and columns may be padded, and the value must be the input zero point, as in a
    convolution.
    """
    return module_pass(_FoldPads, "FoldPads")


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
