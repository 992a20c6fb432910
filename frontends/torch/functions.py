"""Functions of float32, as PyTorch computes them and as XNNPACK does; resizing of images."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.call import CHECKS, OWN, Call, Rule
from frontends.torch.parts import CLAMP, CLAMPING, EXTREMES, clamp, extreme
from frontends.torch.reader import is_call, operator_of, values_of
from qnn_ops import fused_multiply_add
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of

BATCH_NORM = "batch_norm.default"


@OWN.of(BATCH_NORM)
def batch_norm(call: Call) -> relax.Expr:
    """Normalize by the stored statistics: TVM's importer uses the batch's statistics."""
    data, weight, bias, mean, variance, _, _, epsilon, _ = call.values
    data, mean, variance = map(call.expr, (data, mean, variance))
    channels = spec_of(mean).shape
    gamma, beta = (
        relax.const(np.full(channels, number, np.float32)) if part is None else call.expr(part)
        for part, number in ((weight, 1), (bias, 0))
    )
    options = {"axis": 1, "epsilon": float(epsilon), "training": False}
    made = R.nn.batch_norm(data, gamma, beta, mean, variance, **options)
    return relax.TupleGetItem(call.emit(made), 0)


@CHECKS.of(BATCH_NORM)
def check_batch_norm(node: Any) -> None:
    """Raise unless a normalization uses stored statistics."""
    values = values_of(node)
    if values[5] or None in values[3:5]:
        raise UnsupportedError("it is in training mode: call eval() before torch.export.export")


_PAIRS = ("maximum.default", "minimum.default", "max.other", "min.other")


def _exact_gelu(call: Call) -> relax.Expr:
    data, approximate = call.values
    return (R.nn.gelu_tanh if approximate == "tanh" else R.nn.gelu)(call.expr(data))


def _bounded(call: Call) -> Any:
    """Bound numbers; NaN stays NaN."""
    result = clamp(call) if operator_of(call.node) == CLAMP else call.by_tvm()
    for data in map(call.expr, call.node.all_input_nodes):
        if spec_of(data).dtype == spec_of(result).dtype == "float32":
            result = call.emit(R.where(call.emit(R.isnan(data)), data, result))
    return result


def _extreme(call: Call) -> relax.Expr:
    """Reduce by a maximum or a minimum; one NaN makes the result NaN."""
    result, emit = call.emit(extreme(call)), call.emit
    data, axes, keeps = call.values
    tensor = call.expr(data)
    if spec_of(tensor).dtype != "float32":
        return result
    odd = emit(R.astype(emit(R.isnan(tensor)), "float32"))
    count = emit(R.max(odd, [int(axis) for axis in axes] or None, keepdims=bool(keeps)))
    is_odd = emit(R.greater(count, relax.const(0.0, "float32")))
    return R.where(is_odd, relax.const(float("nan"), "float32"), result)


EXACT: dict[str, Rule] = {
    "gelu.default": _exact_gelu,
    CLAMP: _bounded,
    **dict.fromkeys((*CLAMPING, *_PAIRS), _bounded),
    **dict.fromkeys(EXTREMES, _extreme),
}
"""The rules of PyTorch's functions that TVM computes differently, by the names of operators."""


_CONVOLVED, _CHANNELS = (3, 4), 2
"""The ranks of data that ExecuTorch normalizes by a convolution, and the axes before the pixels."""

_BOUNDED = (
    *("conv1d.default", "conv1d.padding", "conv2d.default", "conv2d.padding"),
    *("conv_transpose2d.input", "convolution.default", "linear.default", "addmm.default"),
    *("add.Tensor", "add_.Tensor", "sub.Tensor", "sub_.Tensor", "mul.Tensor", "mul_.Tensor"),
    BATCH_NORM,
)
"""The operators into which ExecuTorch's FuseActivationPass fuses an activation."""

_SIXTH, _HALF = np.float32(1 / 6), np.float32(0.5)


def hardswish(call: Call) -> relax.Expr:
    """Compute x · min(max(fma(x, 1/6, 1/2), 0), 1)."""
    data = call.expr(call.node.args[0])
    factor, addend = (relax.const(value, "float32") for value in (_SIXTH, _HALF))
    gate = call.emit(R.clip(call.emit(fused_multiply_add(data, factor, addend)), 0.0, 1.0))
    return R.multiply(data, gate)


def bound(call: Call) -> Any:
    """Bound values, unless the next bound replaces this one.

    ExecuTorch keeps one pair of bounds with an operator, and each following activation overwrites
    it: after a ReLU and a Hardtanh only the Hardtanh remains.
    """
    return call.expr(call.node.args[0]) if _is_overwritten(call.node) else call.by_tvm()


def _is_overwritten(node: Any) -> bool:
    (reader, *others) = node.users
    if others or not is_call(reader, *CLAMPING):
        return False
    while is_call(node, *CLAMPING) and len(node.args[0].users) == 1:
        node = node.args[0]
    return is_call(node, *_BOUNDED)


def gelu(call: Call) -> relax.Expr:
    """Compute GELU by erf: ExecuTorch does not pass ``approximate`` to the delegate."""
    return R.nn.gelu(call.expr(call.node.args[0]))


def normalize(call: Call) -> relax.Expr:
    """Normalize by stored statistics, with one factor and one addend for each channel."""
    data = call.expr(call.node.args[0])
    rank = len(spec_of(data).shape)
    if rank not in _CONVOLVED:
        return batch_norm(call)
    shape, terms = (-1, *[1] * (rank - _CHANNELS)), _terms(call.node, call.constants)
    factor, addend = (relax.const(each.reshape(shape), "float32") for each in terms)
    return fused_multiply_add(data, factor, addend)


DELEGATED: dict[str, Rule] = {
    BATCH_NORM: normalize,
    **dict.fromkeys(CLAMPING, bound),
    "gelu.default": gelu,
    **dict.fromkeys(("hardswish.default", "hardswish_.default"), hardswish),
}
"""The rules of functions that XNNPACK computes differently, by the names of operators."""


def _terms(node: Any, constants: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the factors and addends of a normalization, computed in float64."""
    _, weight, bias, mean, variance, _, _, epsilon, _ = values_of(node)
    gamma, beta = (
        other if part is None else constants[part.name].astype(np.float64)
        for part, other in ((weight, 1.0), (bias, 0.0))
    )
    centre = constants[mean.name].astype(np.float64)
    spread = np.sqrt(constants[variance.name].astype(np.float64) + np.float32(epsilon))
    factor, addend = gamma / spread, -centre * gamma / spread + beta
    return factor.astype(np.float32), addend.astype(np.float32)


_AXES = (2, 3)
_ONE, _HALF = np.float32(1), np.float32(0.5)


@OWN.of("upsample_nearest2d.vec")
def nearest(call: Call) -> Any:
    """Resize an image; TVM's importer rounds to a pixel, PyTorch takes the pixel before."""
    data, _, factors = call.values
    image, sizes = call.expr(data), call.node.meta["val"].shape[2:]
    shape = spec_of(image).shape[2:]
    if all(size % old == 0 for size, old in zip(sizes, shape, strict=True)) and (
        factors is None or all(factor % 1 == 0 for factor in factors)
    ):
        return call.by_tvm()
    for index, axis in enumerate(_AXES):
        step = np.float32(shape[index] / sizes[index])
        if factors is not None:
            step = np.float32(1 / factors[index])
        steps = np.arange(sizes[index], dtype=np.float32) * step
        pixels = np.minimum(np.floor(steps).astype(np.int64), shape[index] - 1)
        image = call.emit(R.take(image, relax.const(pixels, "int64"), axis=axis, mode="clip"))
    return image


@OWN.of("upsample_bilinear2d.vec")
def bilinear(call: Call) -> Any:
    """Resize an image, with PyTorch's steps if factors are not the quotients of the sizes.

    TVM's importer always uses the quotients.
    """
    if not _is_fractional(call.node):
        return call.by_tvm()
    data, _, _, factors = call.values
    image, sizes = call.array(data), call.node.meta["val"].shape[2:]
    for axis, size, factor in zip(_AXES, sizes, factors, strict=True):
        first, second, weights = _taps(size, image.shape[axis], factor)
        shape = [-1 if each == axis else 1 for each in range(image.ndim)]
        parts = [
            image.to(R.take(image.expr, relax.const(indices, "int64"), axis=axis, mode="clip"))
            * share.reshape(shape)
            for indices, share in ((first, _ONE - weights), (second, weights))
        ]
        image = parts[0] + parts[1]
    return image


@CHECKS.of("upsample_bicubic2d.vec")
def check_bicubic(node: Any) -> None:
    """Raise if an image is resized by factors that are not the quotients of its sizes."""
    if _is_fractional(node):
        raise UnsupportedError("its scale_factor gives no whole sizes: give a size")


def _taps(size: int, length: int, factor: float) -> tuple[Array, Array, Array]:
    """Return two pixels for each pixel of the result, and the weight of the second."""
    step = np.float32(1 / factor)
    steps = (np.arange(size, dtype=np.float32) + _HALF) * step - _HALF
    positions = np.maximum(steps, 0)
    first = np.minimum(positions.astype(np.int64), length - 1)
    weights = np.clip(positions - first.astype(np.float32), 0, 1)
    return first, np.minimum(first + 1, length - 1), weights


def _is_fractional(node: Any) -> bool:
    """Tell whether an image is resized by factors that are not the quotients of its sizes."""
    data, _, is_aligned, factors = values_of(node)
    shape = data.meta["val"].shape[2:]
    return (
        factors is not None
        and not is_aligned
        and any((size * factor) % 1 for size, factor in zip(shape, factors, strict=True))
    )
