"""Leave out channels that are the same number for every input."""

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import mutator

from legalize.passes.live_channels import LiveChannels
from legalize.passes.rewriter import CallRewriter, module_pass
from legalize.qdq.group import operator_name
from qnn_ops import quantized_conv2d
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import (
    as_const,
    attrs_of,
    constant_of,
    operator_of,
    spec_of,
    with_attrs,
)


@mutator
class _DropConstantChannels(CallRewriter):
    def enter(self, function: relax.Function) -> bool:
        self.live = LiveChannels(function)
        values = self.facts.values.items()
        self.results = {value: each for each, value in values if isinstance(value, relax.Call)}
        return bool(self.live.kept)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Rewrite a call whose operand or result has fewer channels, all at once.

        If only one of them changed, its type could not be inferred.
        """
        result, read, kept = self.results.get(call), None, None
        layer = self.live.layers.get(result)
        if layer is not None or operator_name(call) == "relax.reshape":
            read = self.live.kept.get(call.args[0])
            kept = self.live.kept.get(result)
        if read is None and kept is None:
            return super().visit_call_(call)
        data = self.visit_expr(call.args[0])
        if layer is None:
            assert read is not None
            return R.reshape(data, (*spec_of(call).shape[:-1], int(read.sum())))
        bias, out = layer.bias, np.ones(len(layer.weights), bool) if kept is None else kept
        weights = constant_of(call.args[1])
        assert weights is not None
        layout = "OI"
        if operator_of(call) is quantized_conv2d:
            layout = attrs_of(call).kernel_layout
        weights = np.compress(out, weights, layout.index("O"))
        if read is not None and not layer.is_depthwise:
            weights = np.compress(read, weights, layout.index("I"))
            bias = bias + layer.share(self.live.values[call.args[0]], ~read)
        # Sums wrap modulo 2^32, so their constant part may wrap, too.
        constants = [weights, bias[out].astype(np.int32)]
        operands = [as_const(array) for array in constants]
        changed = with_attrs(call, **_of_channels(call, out, is_depthwise=layer.is_depthwise))
        return relax.Call(changed.op, [data, *operands], changed.attrs)


def DropConstantChannels() -> tvm.transform.Pass:
    """Leave out the channels of convolutions and dense layers that no input changes.

    Their contributions to the sums of the next layer join its bias, so its integers stay the same
    for every input. The values of each channel are followed through the network as intervals.
    """
    return module_pass(_DropConstantChannels, "DropConstantChannels")


def _of_channels(call: relax.Call, out: Array, *, is_depthwise: bool) -> dict[str, Any]:
    """Return the attributes of a call that keeps these output channels."""
    attrs, count = vars(attrs_of(call)), int(out.sum())
    changes: dict[str, Any] = {
        name: [item for item, is_kept in zip(attrs[name], out, strict=True) if is_kept]
        for name in ("kernel_scale", "kernel_zero_point")
        if isinstance(attrs[name], tuple) and len(attrs[name]) > 1
    }
    changes |= {name: count for name in ("channels", "units") if attrs.get(name) is not None}
    return {**changes, "groups": count} if is_depthwise else changes
