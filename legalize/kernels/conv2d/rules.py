"""The rules of convolutions and dense layers, on any processor."""

from dataclasses import dataclass, replace

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.border import edges_of
from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.conv2d.calls import (
    ConvCall,
    EndsIn,
    Scaling,
    conv_call,
    dense_call,
    depthwise_call,
    finish,
)
from legalize.kernels.conv2d.plan import Planner, Ready
from legalize.kernels.conv2d.spec import UNFUSED, ConvSpec, Fusion
from legalize.kernels.conv2d.stage import Sizes, can_share, stage
from legalize.kernels.kernel import Builder, Lowered, Operands
from qnn_ops.dialect.registry import Attrs, as_const, spec_of


@dataclass(frozen=True)
class ConvRules:
    """The rules of kernels for one instruction set.

    Each rule returns None if the kernel cannot serve the call.

    Attributes:
        plan: plans a convolution.
        ends_in: whether a kernel does the rounding of a call.
        staged_dtype: the dtype that kernels multiply.
        stages: whether kernels read a copy of data that has another dtype or padding.
    """

    plan: Planner
    ends_in: EndsIn
    staged_dtype: str = "uint8"
    stages: bool = True

    def conv2d(
        self,
        builder: Builder,
        attrs: Attrs,
        operands: Operands,
        *,
        fusion: Fusion = UNFUSED,
        into: relax.Expr | None = None,
    ) -> Lowered:
        """Return a convolution of one group.

        Args:
            builder: the module's builder.
            attrs: the call's attributes.
            operands: the call's operands; after them the residual, if there is one.
            fusion: the other operators that the kernel computes.
            into: the tensor that contains the output, if others have written to it.

        Returns:
            The output, with its border, or the larger tensor.
        """
        call = conv_call(attrs, operands, self.ends_in, fusion)
        if call is not None:
            edges = edges_of(builder, call.data, call.spec.input_zero_point)
            call = replace(call, spec=replace(call.spec, edges=edges))
        plan = self._planned(call)
        if call is None or plan is None:
            return None
        return self._emit(builder, call, plan, call.data, operands[3:], into)

    def dense(
        self, builder: Builder, attrs: Attrs, operands: Operands, *, scaling: Scaling | None = None
    ) -> Lowered:
        """Return a dense layer; of float32 if the call's sums are to be scaled."""
        call = dense_call(attrs, operands, self.ends_in)
        encodings = []
        if call is not None and scaling is not None:
            call, encodings = scaling.of(call), [scaling.encoding]
        plan = self._planned(call)
        if call is None or plan is None:
            return None
        pixels = builder.emit(R.reshape(call.data, call.spec.in_shape))
        result = self._emit(builder, call, plan, pixels, encodings)
        outer = spec_of(call.data).shape[:-1]
        return R.reshape(builder.emit(result), (*outer, call.spec.out_channels))

    def depthwise(self, builder: Builder, attrs: Attrs, operands: Operands) -> Lowered:
        """Return a depthwise convolution."""
        call = depthwise_call(attrs, operands, self.ends_in)
        plan = self._planned(call)
        if call is None or plan is None:
            return None
        data, each = call.data, call.spec.out_channels // attrs.groups
        if each > 1:
            # Repeat each channel for each of its outputs.
            data = builder.emit(R.repeat(data, each, axis=3))
        return self._emit(builder, call, plan, data)

    def _planned(self, call: ConvCall | None) -> Ready | None:
        if call is None:
            return None
        return self.plan(replace(call.spec, staged_dtype=self.staged_dtype), call.weights)

    def _emit(
        self,
        builder: Builder,
        call: ConvCall,
        plan: Ready,
        data: relax.Expr,
        addends: Operands = (),
        into: relax.Expr | None = None,
    ) -> relax.Expr:
        """Return the calls of the staging function, if needed, and of the kernel."""
        spec = plan.spec
        if self.stages and spec.needs_staging:
            data = _staged(builder, spec, data)
        shape, dtype = spec.target_shape, spec.stored.dtype
        for part in (plan, *plan.rest):
            function = part.build()
            name = SORTED_LAST + function.attrs["global_symbol"]
            operands = [data, *map(as_const, part.constants), *addends]
            into = call_tir(builder, name, function, operands, shape, dtype, into)
        return finish(builder, call, into)


def _staged(builder: Builder, spec: ConvSpec, data: relax.Expr) -> relax.Expr:
    """Return the call of the staging function."""
    is_shared = spec.fusion.is_shared and can_share(spec)
    function, operands = stage(spec, is_shared=is_shared), [data]
    if is_shared:
        operands.append(as_const(np.array(Sizes.known(spec), np.int32)))
    name = str(function.attrs["global_symbol"])
    return call_tir(builder, name, function, operands, spec.staged_shape, spec.staged_dtype)
