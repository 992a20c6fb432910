"""How calls of convolutions and dense layers become calls of kernels, on any processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.conv2d.calls import (
    addend_of,
    conv_factor,
    dense_factor,
    finish,
    fixed_point,
    operands_of,
    spec_of_call,
)
from legalize.kernels.conv2d.plan import Plan, Planner, Weights
from legalize.kernels.conv2d.spec import UNFUSED, ConvSpec, Fusion
from legalize.kernels.conv2d.stage import stage
from qnn_ops.layouts import permutation
from qnn_ops.registry import Attrs, spec_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ConvRules:
    """The rules of kernels for one instruction set.

    Each gives None where the kernel does not do what the call asks.

    Attributes:
        plan: Plans a convolution.
        ends_in: Whether a kernel ends in the rounding of a call with these multipliers; else it
            gives the sums.
        staged_dtype: What kernels multiply.
        stages: Whether they read a copy of data of another dtype, or that is padded.
    """

    plan: Planner
    ends_in: Callable[[Attrs, Array], bool]
    staged_dtype: str = "uint8"
    stages: bool = True

    def conv2d(
        self,
        builder: relax.BlockBuilder,
        attrs: Attrs,
        operands: Sequence[relax.Expr],
        *,
        fusion: Fusion = UNFUSED,
        into: relax.Expr | None = None,
    ) -> relax.Expr | None:
        """A convolution of one group.

        Args:
            builder: Of the module.
            attrs: Of the call.
            operands: Of the call; after them the residual, if there is one.
            fusion: What the kernel does beside the convolution.
            into: The tensor of which the output is a part, if others have written to it.

        Returns:
            The output, with its border, or the larger tensor.
        """
        data, weights, bias = operands_of(operands)
        if weights is None or attrs.groups != 1 or not _is_nhwc(attrs):
            return None
        kernel = weights.transpose(permutation(attrs.kernel_layout, "OHWI"))
        multiplier = conv_factor(attrs, str(weights.dtype))
        spec = self._spec(attrs, data, kernel, multiplier, spec_of(data).shape, **_window(attrs))
        if spec is None or (fusion != UNFUSED and spec.output.dtype == "int32"):
            return None
        if fusion == UNFUSED:
            fusion = Fusion(addend=addend_of(attrs, operands))
        found = self._planned(replace(spec, fusion=fusion), attrs, kernel, bias, multiplier)
        if found is None:
            return None
        return self._call(builder, attrs, *found, data, multiplier, operands[3:], into)

    def dense(
        self, builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
    ) -> relax.Expr | None:
        """A dense layer."""
        data, weights, bias = operands_of(operands)
        if weights is None:
            return None
        *outer, depth = spec_of(data).shape
        kernel = weights.reshape(-1, 1, 1, depth)
        multiplier = dense_factor(attrs, str(weights.dtype))
        spec = self._spec(attrs, data, kernel, multiplier, (prod(outer), 1, 1, depth))
        found = None if spec is None else self._planned(spec, attrs, kernel, bias, multiplier)
        if spec is None or found is None:
            return None
        pixels = builder.emit(R.reshape(data, spec.in_shape))
        result = self._call(builder, attrs, *found, pixels, multiplier)
        return R.reshape(builder.emit(result), (*outer, spec.out_channels))

    def depthwise(
        self, builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
    ) -> relax.Expr | None:
        """A convolution of each channel by itself."""
        data, weights, bias = operands_of(operands)
        *outer, channels = spec_of(data).shape
        if weights is None or not _is_nhwc(attrs) or attrs.groups != channels:
            return None
        kernel = weights.transpose(permutation(attrs.kernel_layout, "OHWI"))
        multiplier = conv_factor(attrs, str(weights.dtype))
        in_shape = (*outer, len(kernel))
        spec = self._spec(attrs, data, kernel, multiplier, in_shape, **_window(attrs))
        if spec is None:
            return None
        kernel_hwc = kernel[..., 0].transpose(1, 2, 0)
        found = self._planned(spec, attrs, kernel_hwc, bias, multiplier)
        if found is None:
            return None
        if len(kernel) != channels:
            # Each channel once for every output that it gives.
            data = builder.emit(R.repeat(data, len(kernel) // channels, axis=3))
        return self._call(builder, attrs, *found, data, multiplier)

    def _spec(
        self,
        attrs: Attrs,
        data: relax.Expr,
        kernel: Array,
        multiplier: Array,
        in_shape: tuple[int, ...],
        **window: Any,
    ) -> ConvSpec | None:
        is_whole = attrs.out_dtype != "int32" and self.ends_in(attrs, multiplier)
        spec = spec_of_call(attrs, data, kernel, in_shape, is_whole=is_whole, **window)
        return None if spec is None else replace(spec, staged_dtype=self.staged_dtype)

    def _planned(
        self, spec: ConvSpec, attrs: Attrs, kernel: Array, bias: Array | None, multiplier: Array
    ) -> tuple[Plan, Weights] | None:
        zero_point = np.asarray(attrs.kernel_zero_point)
        weights = Weights(kernel, zero_point, bias, *fixed_point(spec, multiplier))
        plan = self.plan(spec, weights)
        return None if plan is None else (plan, weights)

    def _call(
        self,
        builder: relax.BlockBuilder,
        attrs: Attrs,
        plan: Plan,
        weights: Weights,
        data: relax.Expr,
        multiplier: Array,
        addends: Sequence[relax.Expr] = (),
        into: relax.Expr | None = None,
    ) -> relax.Expr:
        """The calls of what stages the data, and of the kernel."""
        spec, packed = plan.spec, plan.pack(weights)
        if self.stages and spec.needs_staging:
            copy = stage(spec)
            data = call_tir(builder, "stage", copy, [data], spec.staged_shape, spec.staged_dtype)
        function = plan.function(packed)
        name = SORTED_LAST + function.attrs["global_symbol"]
        constants = [relax.const(array, str(array.dtype)) for array in packed.constants]
        operands = [data, *constants, *addends]
        shape, dtype = spec.target_shape, spec.stored.dtype
        result = call_tir(builder, name, function, operands, shape, dtype, into)
        return finish(builder, attrs, spec, result, multiplier)


def _is_nhwc(attrs: Attrs) -> bool:
    return (attrs.data_layout, attrs.out_layout) == ("NHWC", "NHWC")


def _window(attrs: Attrs) -> dict[str, Any]:
    """What a convolution has that a dense layer has not."""
    return {name: getattr(attrs, name) for name in ("strides", "padding", "dilation")}
