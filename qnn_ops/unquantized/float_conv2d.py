"""Two-dimensional convolution of float32, which adds products in a stated order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.layouts import permutation, reorder
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import Channels, fixed
from qnn_ops.dialect.windows import counts_of, windows_of
from qnn_ops.errors import QnnError

ORDERS = ("tflite", "onnxruntime", "onnxruntime_blocked", "onnxruntime_rows")
_PANEL, _FEWEST = 128, 16
"""The products and columns of a panel; a panel of more columns than the second may be halved."""
BLOCK = 16
"""The channels that AVX512 computes at a time."""
PACKED = 256
"""The products of a panel of a constant matrix."""


@operator(traits=fixed(Channels.CONVOLUTION), overflows=False)
def float_conv2d(
    data: declared.FloatImages,
    kernel: declared.FloatImages,
    bias: relax.Expr | None = None,
    addend: relax.Expr | None = None,
    *,
    strides: declared.Strides = (1, 1),
    padding: declared.Padding = (0, 0),
    dilation: declared.Dilation = (1, 1),
    groups: declared.Int = 1,
    data_layout: declared.Layout = "NHWC",
    kernel_layout: declared.KernelLayout = "OHWI",
    out_layout: declared.OutLayout = "",
    low: declared.OptionalFloat = None,
    high: declared.OptionalFloat = None,
    order: Annotated[str, declared.choice(*ORDERS, implied=True)] = "tflite",
) -> None:
    """Convolve float32 data with a float32 kernel.

    Products are added to 0 one by one, in the order of the kernel's rows, its columns and its
    input channels. Each product and each sum is rounded to nearest, half to even. Taps on padding
    add nothing, whatever the weight is. Then the bias and the addend are added, and the result is
    clamped; the clamp keeps NaN. Source of the arithmetic: CONV_2D, DEPTHWISE_CONV_2D and
    FULLY_CONNECTED of LiteRT's reference kernels, as its builds for x86 compute them.

    In ONNX Runtime's orders a product and its sum have one rounding. Parts of a sum are added
    separately, and then one by one: see ``parts_of``. In order "onnxruntime" padding is data of 0.
    Without a fused multiply-add in the processor, or without a kernel, the order is TVM's. Sources:
    MLAS of ONNX Runtime with one thread, on a processor with AVX512: core/mlas/lib/convolve.cpp,
    sgemm.cpp and x86_64/SgemmKernelM1Avx.S for order "onnxruntime", snchwc.cpp for
    "onnxruntime_blocked".

    Args:
        data: float32, [N, H, W, C] or [N, C, H, W].
        kernel: float32, O output channels by I = C / groups input channels by the window, in the
            order of ``kernel_layout``.
        bias: float32 [O].
        addend: float32 of the result's shape. A call with an addend has a bias.
        groups: the number of groups of channels; C for a depthwise convolution.
        low: lowest value of the result; None for no bound.
        high: highest value of the result; None for no bound.
        order: "tflite"; "onnxruntime" for weights that ONNX Runtime computes in a run, such as
            dequantized ones; "onnxruntime_blocked" for weights that it packs beforehand;
            "onnxruntime_rows" for data that are rows of a matrix, and constant weights.

    Returns:
        A call whose result is float32 of the layout ``out_layout``.
    """


@dataclass(frozen=True)
class Parts:
    """The parts into which ONNX Runtime cuts the products of a sum.

    Attributes:
        block: input channels that each tap reads together. The order is: blocks, rows, columns, the
            channels of a block.
        size: products of a part.
        has_runs: whether products are rounded, and a part has four of them, at the end two and
            one (``runs_of``).
        follow_bias: whether parts are added to the bias, and not the bias to their sum.
    """

    block: int
    size: int
    has_runs: bool = False
    follow_bias: bool = False


def panel_of(columns: int) -> int:
    """Return the number of products of a panel of a matrix that is not constant.

    ONNX Runtime's panels also depend on the number of products, if there are at most ``columns``.
    No sum differs: with more than 64 columns both rules give 128, and a sum of at most 64 products
    is one chain in both.
    """
    size, width = _PANEL, _PANEL
    while width > _FEWEST and width // 2 >= columns:
        size, width = size * 2, width // 2
    return size


def parts_of(attrs: Attrs, window: Sequence[int], inputs: int, units: int, pixels: int) -> Parts:
    """Return the parts of one of ONNX Runtime's sums.

    Args:
        attrs: the call's attributes.
        window: rows and columns of the kernel.
        inputs: its input channels.
        units: its output channels.
        pixels: the pixels of an image of the result.
    """
    taps, order = prod(window), attrs.order
    if order == ORDERS[1]:
        return Parts(1, panel_of(pixels), units == attrs.groups)
    if order == ORDERS[3]:
        return Parts(1, PACKED, follow_bias=True)
    if inputs < BLOCK:
        return Parts(1, taps)
    return Parts(1, _PANEL) if taps == 1 else Parts(BLOCK, BLOCK * taps)


def is_laid_out(groups: int, inputs: int, units: int) -> bool:
    """Tell whether ONNX Runtime packs constant weights beforehand.

    Args:
        groups: the number of groups.
        inputs: input channels of a group.
        units: output channels of all groups.
    """
    if groups == 1:
        return inputs < BLOCK or inputs % 4 == 0
    if inputs == 1 and units == groups:
        return units % 4 == 0
    return inputs % BLOCK == 0 and units % (groups * BLOCK) == 0


def runs_of(depth: int) -> Iterator[tuple[int, int]]:
    """Cut products as ONNX Runtime does those of a single output channel: (first, how many)."""
    for begin in range(0, depth - 3, 4):
        yield begin, 4
    for size in (2, 1):
        if depth & size:
            yield depth - depth % (2 * size), size


def bounds_of(attrs: Attrs) -> tuple[float | None, float | None]:
    """Return the bounds of a clamp; None for no bound."""
    return getattr(attrs, "low", None), getattr(attrs, "high", None)


@float_conv2d.type_rule
def _type(
    attrs: Attrs,
    data: TensorSpec,
    kernel: TensorSpec,
    bias: TensorSpec | None = None,
    addend: TensorSpec | None = None,
) -> TensorSpec:
    batch, *sizes, channels = reorder(data.shape, attrs.data_layout, "NHWC")
    units, *window, inputs = reorder(kernel.shape, attrs.kernel_layout, "OHWI")
    groups = attrs.groups
    if groups < 1 or units % groups or inputs * groups != channels:
        raise QnnError(
            f"{groups} groups of a kernel of shape {kernel.shape} do not fit data of shape "
            f"{data.shape}"
        )
    if bias is not None and (bias.dtype, bias.shape) != ("float32", (units,)):
        raise QnnError(f"bias must be float32 of shape ({units},), got {bias.dtype} {bias.shape}")
    low, high = bounds_of(attrs)
    if not all(np.isfinite(end) for end in (low, high) if end is not None):
        raise QnnError(f"bounds must be finite, got {low} and {high}")
    counts = counts_of(attrs, sizes, window)
    result = TensorSpec(reorder((batch, *counts, units), "NHWC", attrs.out_layout), "float32")
    if addend is not None and (addend.dtype, addend.shape) != ("float32", result.shape):
        wanted = f"addend must be float32 of the result's shape {result.shape}"
        raise QnnError(f"{wanted}, got {addend.dtype} {addend.shape}")
    return result


@float_conv2d.reference
def _reference(
    attrs: Attrs,
    data: Array,
    kernel: Array,
    bias: Array | None = None,
    addend: Array | None = None,
) -> Array:
    weights = kernel.transpose(permutation(attrs.kernel_layout, "OHWI"))
    images = data.transpose(permutation(attrs.data_layout, "NHWC"))
    units, height, width, inputs = weights.shape
    pixels = np.ones((*images.shape[:3], 1), np.float32)
    taps, inside = (windows_of(attrs, each, (height, width)) for each in (images, pixels))
    number = np.arange(units) // (units // attrs.groups)

    def pair(row: int, column: int, channel: int) -> tuple[Array, Array]:
        index = number * inputs + channel
        return taps[..., index, row, column], weights[:, row, column, channel]

    with np.errstate(all="ignore"):
        if attrs.order == ORDERS[0]:
            total = np.zeros((*taps.shape[:3], units), np.float32)
            for index in np.ndindex(height, width, inputs):
                data_of, weight = pair(*index)
                is_inside = inside[..., index[0], index[1]] > 0
                total = np.where(is_inside, total + data_of * weight, total)
        else:
            parts = parts_of(attrs, (height, width), inputs, units, prod(taps.shape[1:3]))
            indices = sorted(
                np.ndindex(height, width, inputs),
                key=lambda index: (index[2] // parts.block, *index),
            )
            first = bias if parts.follow_bias else None
            is_data = attrs.order == ORDERS[1]
            terms = [
                (*pair(*index), is_data or inside[..., index[0], index[1]] > 0) for index in indices
            ]
            total = _in_parts(terms, parts, first)
            bias = None if parts.follow_bias else bias
        if bias is not None:
            total = total + bias
        if addend is not None:
            total = total + addend.transpose(permutation(attrs.out_layout, "NHWC"))
        for end, is_beyond in zip(bounds_of(attrs), (np.less, np.greater), strict=True):
            if end is not None:
                total = np.where(is_beyond(total, np.float32(end)), np.float32(end), total)
    return np.ascontiguousarray(total.transpose(permutation("NHWC", attrs.out_layout)))


def _in_parts(
    terms: list[tuple[Array, Array, Array | bool]], parts: Parts, total: Array | None
) -> Array:
    """Add products in the parts and the order of ONNX Runtime.

    Args:
        terms: data, weights, and where they are multiplied.
        parts: the parts of the sum.
        total: the sum that they are added to, if there is one.
    """
    depth, size = len(terms), parts.size
    cuts = runs_of(depth) if parts.has_runs else ((k, size) for k in range(0, depth, size))
    for begin, count in cuts:
        part: Array = np.zeros(terms[0][0].shape, np.float32)
        for lhs, rhs, is_inside in terms[begin : begin + count]:
            if parts.has_runs:
                part = part + lhs * rhs
            else:
                added = fused_multiply_add_float32(lhs, np.broadcast_to(rhs, lhs.shape), part)
                part = np.where(is_inside, added, part)
        total = part if total is None else total + part
    return np.zeros((), np.float32) if total is None else total
