"""Specs of convolutions and dense layers, made of their calls."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.conv2d.constants import unique
from legalize.kernels.conv2d.plan import Columns, Weights
from legalize.kernels.conv2d.spec import UNFUSED, Addend, ConvSpec, Encoding, Fusion, OutputStage
from legalize.kernels.ir.vectors import Array
from legalize.kernels.kernel import Builder, Lowered, Operands, Rule
from qnn_ops.arithmetic.float_epilogue import ONEDNN, addend_multiplier, float_epilogue
from qnn_ops.arithmetic.rounding import scale_result
from qnn_ops.arithmetic.sums import SUMS, Factor, conv_factor, dense_factor, with_bias
from qnn_ops.dialect.attributes import QUANTIZED, dtype_range
from qnn_ops.dialect.expressions import emitted
from qnn_ops.dialect.layouts import permutation
from qnn_ops.dialect.registry import Attrs, constant_of, spec_of

_MIDDLE = {"uint8": 128, "int8": 0}
_WINDOW = "strides", "padding", "dilation"

# TVM lets LLVM assume that int32 never overflows, not even in intermediate results of a sum that
# fits. A kernel folds zero points into the bias and sums raw bytes. So it may use half of int32 for
# its products and half for the bias, or a little more: converters give channels without weights
# biases of ±(2^30 + 128). A larger bias is added to the kernel's sums, modulo 2^32.
_MOST_BIAS = 2**30 + 2**20
_MOST_PRODUCTS = 2**31 - _MOST_BIAS


def ends_in_floats(attrs: Attrs, operands: Operands) -> bool:
    """Tell whether a kernel with rounding "onednn" computes a call, which adds no tensor."""
    return attrs.out_dtype != "int32" and len(operands) < 4


def sums_first(
    rule: Rule, factor: Factor, is_whole: Callable[[Attrs, Operands], bool] = lambda *_: False
) -> Rule:
    """Return a rule that also serves rounding "onednn", in two steps if no kernel does both.

    Args:
        rule: returns the sums; the other steps follow them.
        factor: the operator's.
        is_whole: whether ``rule`` takes a call as it is.
    """

    def served(builder: Builder, attrs: Attrs, operands: Operands) -> Lowered:
        if attrs.rounding != ONEDNN or is_whole(attrs, operands):
            return rule(builder, attrs, operands)
        data, weights, bias, addend = (*operands, None, None)[:4]
        sums = rule(builder, type(attrs)(**{**vars(attrs), **SUMS}), [data, weights])
        if sums is None:
            return None
        multiplier = factor(attrs, spec_of(weights).dtype)
        return emitted(builder, float_epilogue, attrs, sums, bias, multiplier, addend)

    return served


def fixed_point(spec: ConvSpec, real_multiplier: Array) -> tuple[Any, Any]:
    """Return the multiplier and the shift from which a kernel's constants are made."""
    output = spec.output
    return (0, 0) if output.dtype == "int32" else output.rule.constants(real_multiplier)


def addend_of(attrs: Attrs, operands: Operands) -> Addend | None:
    """Describe the tensor that a call adds, if it adds one."""
    if len(operands) < 4:
        return None
    return Addend(
        spec_of(operands[3]).dtype,
        attrs.addend_zero_point,
        float(np.float32(addend_multiplier(attrs))),
        attrs.relu_before_addend,
    )


def operands_of(operands: Operands) -> tuple[relax.Expr, Array | None, Array | None]:
    """Return data, weights and bias; no weights if they or the bias are not constant."""
    data, weights, *rest = operands
    bias = constant_of(rest[0]) if rest else None
    return data, None if rest and bias is None else constant_of(weights), bias


def is_huge(bias: Array | None) -> bool:
    """Tell whether a bias is too large for a kernel, and is added to its sums."""
    return bias is not None and bool((np.abs(bias.astype(np.int64)) >= _MOST_BIAS).any())


def _keeps_int32(kernel_ohwi: Array, zero_point: int) -> bool:
    """Tell whether a kernel's sums, corrections for zero points included, fit half of int32."""
    channels, depth = len(kernel_ohwi), int(np.prod(kernel_ohwi.shape[1:]))
    largest = 255  # the largest magnitude of staged data
    # The magnitudes of a weight as a signed byte, its zero point, and their difference.
    if largest * depth * (128 + 129 + 255) < _MOST_PRODUCTS:
        return True
    middle = _MIDDLE[str(kernel_ohwi.dtype)]
    rows = kernel_ohwi.reshape(channels, depth).astype(np.int64) - middle
    shifted = zero_point - middle
    folded = np.abs((rows - shifted).sum(axis=1))
    # Each may be one more: ARM's kernels avoid -128 by adding 1.
    raw = (np.abs(rows) + 1).sum(axis=1) + depth * (abs(shifted) + 1)
    return int((largest * (raw + folded)).max()) < _MOST_PRODUCTS


def centred(kernel: Array, zero_point: Array | int) -> tuple[Array, Array]:
    """Subtract the zero point from weights, if int8 holds the result: no sums of data are needed.

    Returns:
        int8 weights and 0; otherwise both unchanged.
    """
    zero_points = unique(zero_point)
    if kernel.dtype == np.int8 and not zero_points.any():
        return kernel, zero_points
    if zero_points.size == 1:
        rest = kernel.astype(np.int16) - np.int16(zero_points[0])
        low, high = dtype_range("int8")
        if rest.min(initial=0) >= low and rest.max(initial=0) <= high:
            return rest.astype(np.int8), np.zeros(1, np.int64)
    return kernel, zero_points


@dataclass(frozen=True, eq=False)
class ConvCall:
    """A call, described for kernels.

    Attributes:
        attrs: the call's attributes.
        data: its data.
        spec: the convolution.
        weights: the constants.
        multiplier: the steps of the result in a step of the sums.
        bias: added to the kernel's sums, if it is too large for the kernel.
    """

    attrs: Attrs
    data: relax.Expr
    spec: ConvSpec
    weights: Weights
    multiplier: Array
    bias: Array | None = None


EndsIn = Callable[[Attrs, Array], bool]
"""Tells whether a kernel does a call's rounding with these multipliers, not only its sums."""


def conv_call(
    attrs: Attrs, operands: Operands, ends_in: EndsIn, fusion: Fusion = UNFUSED
) -> ConvCall | None:
    """Describe a convolution of one group; None if no kernel has its layouts or arithmetic."""
    weights = _weights_ohwi(attrs, operands)
    if weights is None or attrs.groups != 1:
        return None
    factor, shape = conv_factor(attrs, str(weights.dtype)), spec_of(operands[0]).shape
    call = _described(attrs, operands, weights, factor, shape, ends_in)
    if call is None or (fusion != UNFUSED and call.spec.output.dtype == "int32"):
        return None
    if fusion == UNFUSED:
        fusion = Fusion(addend=addend_of(attrs, operands))
    return replace(call, spec=replace(call.spec, fusion=fusion))


def dense_call(attrs: Attrs, operands: Operands, ends_in: EndsIn) -> ConvCall | None:
    """Describe a dense layer as a convolution, with an image for each row."""
    _, weights, _ = operands_of(operands)
    if weights is None:
        return None
    *outer, depth = spec_of(operands[0]).shape
    weights = weights.reshape(-1, 1, 1, depth)
    factor, shape = dense_factor(attrs, str(weights.dtype)), (prod(outer), 1, 1, depth)
    return _described(attrs, operands, weights, factor, shape, ends_in)


@dataclass(frozen=True, eq=False)
class Scaling:
    """How the sums of a dense layer become float32: the arithmetic of x86/epilogue/real.py.

    Attributes:
        encoding: the encoding of each row of data, or of all: float32, from ``dynamic_encoding``.
        offset: added to the zero points; None if the sums do not depend on them.
        columns: the constants of each unit.
    """

    encoding: relax.Expr
    offset: int | None
    columns: Columns

    def of(self, call: ConvCall) -> ConvCall:
        """Return a call for sums as one for float32."""
        fusion = Fusion(encoding=Encoding(spec_of(self.encoding).shape, self.offset))
        spec = replace(call.spec, output=OutputStage("float32"), fusion=fusion)
        return replace(call, spec=spec, weights=replace(call.weights, columns=self.columns))


def depthwise_call(attrs: Attrs, operands: Operands, ends_in: EndsIn) -> ConvCall | None:
    """Describe a depthwise convolution, whose data has a channel for each output channel."""
    *outer, channels = spec_of(operands[0]).shape
    weights = _weights_ohwi(attrs, operands)
    if weights is None or attrs.groups != channels:
        return None
    factor, shape = conv_factor(attrs, str(weights.dtype)), (*outer, len(weights))
    call = _described(attrs, operands, weights, factor, shape, ends_in)
    if call is None:
        return None
    kernel = call.weights.kernel[..., 0].transpose(1, 2, 0)
    return replace(call, weights=replace(call.weights, kernel=kernel))


def _weights_ohwi(attrs: Attrs, operands: Operands) -> Array | None:
    _, weights, _ = operands_of(operands)
    if weights is None or (attrs.data_layout, attrs.out_layout) != ("NHWC", "NHWC"):
        return None
    return weights.transpose(permutation(attrs.kernel_layout, "OHWI"))


def _described(
    attrs: Attrs,
    operands: Operands,
    kernel_ohwi: Array,  # [O, KH, KW, I]
    factor: Array,  # [out_channels] or one
    in_shape: tuple[int, ...],  # (N, H, W, C)
    ends_in: EndsIn,
) -> ConvCall | None:
    """Describe a call; None if the kernel does not have its arithmetic.

    A kernel that does not do the whole call returns the sums; the other steps follow it.
    """
    data, _, bias = operands_of(operands)
    late = bias if is_huge(bias) else None
    if late is not None and attrs.rounding == ONEDNN:
        return None
    is_whole = attrs.out_dtype != "int32" and late is None and ends_in(attrs, factor)
    kernel, zero_points = centred(kernel_ohwi, attrs.kernel_zero_point)
    zero_point, in_dtype, kernel_dtype = int(zero_points[0]), spec_of(data).dtype, str(kernel.dtype)
    if in_dtype not in QUANTIZED or zero_points.size > 1 or not _keeps_int32(kernel, zero_point):
        return None
    # A dense layer has none of these attributes.
    window = {name: getattr(attrs, name) for name in _WINDOW if hasattr(attrs, name)}
    batch, height, width, channels = in_shape
    spec = ConvSpec(
        batch,
        height,
        width,
        channels,
        kernel_height=kernel.shape[1],
        kernel_width=kernel.shape[2],
        out_channels=len(kernel),
        **window,
        in_dtype=in_dtype,
        input_zero_point=attrs.input_zero_point,
        kernel_dtype=kernel_dtype,
        has_asymmetric_kernel=zero_point != _MIDDLE[kernel_dtype],
        output=OutputStage.of(attrs) if is_whole else OutputStage(),
    )
    folded = bias if late is None else None
    weights = Weights(kernel, zero_point, folded, *fixed_point(spec, factor))
    return ConvCall(attrs, data, spec, weights, factor, late)


def saturate(value: relax.Expr, bounds: tuple[int, int], dtype: str) -> relax.Expr:
    """Clamp an int64 expression to ``bounds`` and cast it."""
    low, high = (relax.const(bound, "int64") for bound in bounds)
    return R.astype(R.minimum(R.maximum(value, low), high), dtype)


def finish(builder: Builder, call: ConvCall, result: relax.Expr) -> relax.Expr:
    """Apply to the kernel's sums the steps that the kernel leaves out."""
    attrs = call.attrs
    if call.bias is not None:
        result = emitted(builder, with_bias, result, relax.const(call.bias, "int32"))
    if attrs.out_dtype == "int32":
        bounds = attrs.out_min, attrs.out_max
        if bounds == dtype_range("int32"):
            return result
        return saturate(R.astype(result, "int64"), bounds, "int32")
    if call.spec.output.dtype == attrs.out_dtype:
        return result
    return emitted(builder, scale_result, attrs, result, call.multiplier, attrs.rounding)
