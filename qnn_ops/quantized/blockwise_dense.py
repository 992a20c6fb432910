"""Dense layers of float32 data, whose weights have a few bits and a scale for each block."""

import numpy as np
from tvm import relax

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.checks import check_dtype
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError

BITS = (2, 4, 8)
_BYTE = 8
_MOST = np.float32(127)


@operator(traits=FIXED, overflows=False)
def blockwise_dense(
    data: declared.Floats,
    weights: declared.Bytes,
    scales: declared.Floats,
    points: relax.Expr | None = None,
    *,
    bits: declared.Int,
    block_size: declared.Int,
    quantizes_data: declared.ImpliedFlag = False,
) -> None:
    """Multiply rows of float32 by weights of a few bits.

    A weight is the float32 (q - zero point) · scale, both steps rounded. Products are added in
    float32. The processor decides the order, and whether products are rounded before they are
    added. The reference adds them in float64.

    With ``quantizes_data`` each block of a row becomes integers first: rint(x · (127 / m)), where m
    is the block's largest magnitude; 0 if m is 0. Their products with q - zero point are added as
    integers, and multiplied by (m / 127) · scale. These terms are then added in float32.

    Source of the arithmetic: MatMulNBits of ONNX Runtime, contrib_ops/cpu/quantization; with
    ``quantizes_data`` its accuracy level 4, core/mlas/lib/sqnbitgemm_kernel_avx512.cpp.

    Args:
        data: float32 [..., depth].
        weights: uint8 [units, bytes]: the integers of each unit, a whole number of blocks, the
            first ones in the lowest bits of a byte.
        scales: float32, [units, blocks].
        points: zero points, float32 [units, blocks]; None for the middle integer, 2^(bits - 1).
        bits: the bits of a weight: 2, 4 or 8.
        block_size: the weights of a block, neighbours along the depth; even, and whole bytes.
        quantizes_data: whether data becomes integers; then zero points are integers, too.

    Returns:
        A call whose result is float32 [..., units].
    """


@blockwise_dense.type_rule
def _type(
    attrs: Attrs,
    data: TensorSpec,
    weights: TensorSpec,
    scales: TensorSpec,
    points: TensorSpec | None = None,
) -> TensorSpec:
    if attrs.bits not in BITS:
        raise QnnError(f"bits must be 2, 4 or 8, got {attrs.bits}")
    step = max(2, _BYTE // attrs.bits)
    if attrs.block_size < 1 or attrs.block_size % step:
        raise QnnError(f"block_size must be a positive multiple of {step}, got {attrs.block_size}")
    if not data.shape or not data.shape[-1]:
        raise QnnError(f"data must have rows of numbers, got shape {data.shape}")
    blocks = -(-data.shape[-1] // attrs.block_size)
    units, size = weights.shape[0], blocks * attrs.block_size * attrs.bits // _BYTE
    if weights.shape[1] != size:
        raise QnnError(f"weights must have {size} bytes for each unit, got shape {weights.shape}")
    for name, spec in (("scales", scales), ("points", points)):
        if spec is not None:
            check_dtype(name, spec.dtype, ("float32",))
            if spec.shape != (units, blocks):
                raise QnnError(f"{name} must have shape {(units, blocks)}, got {spec.shape}")
    return TensorSpec((*data.shape[:-1], units), "float32")


def integers_of(weights: Array, bits: int) -> Array:
    """Return the integers in bytes along the last axis; the lowest bits come first."""
    shifts = np.arange(0, _BYTE, bits, dtype=np.uint8)
    values = (weights[..., np.newaxis] >> shifts) & np.uint8((1 << bits) - 1)
    return np.asarray(values.reshape(*weights.shape[:-1], -1), np.uint8)


def packed(integers: Array, bits: int) -> Array:
    """Pack integers below 2^bits along the last axis into uint8, the inverse of ``integers_of``.

    Zeros fill the last byte of a row.
    """
    shifts = np.arange(0, _BYTE, bits, dtype=np.uint8)
    *outer, count = integers.shape
    whole = np.zeros((*outer, -(-count // shifts.size), shifts.size), np.uint8)
    whole.reshape(*outer, -1)[..., :count] = integers
    return np.asarray(np.bitwise_or.reduce(whole << shifts, axis=-1), np.uint8)


def middle_of(bits: int) -> float:
    """Return the zero point of weights without stated zero points."""
    return float(1 << (bits - 1))


@blockwise_dense.reference
def _reference(
    attrs: Attrs, data: Array, weights: Array, scales: Array, points: Array | None = None
) -> Array:
    units, blocks = scales.shape
    steps = integers_of(weights, attrs.bits).astype(np.float32).reshape(units, blocks, -1)
    zero = np.full((1, 1), middle_of(attrs.bits), np.float32) if points is None else points
    if attrs.quantizes_data:
        return _integer_product(data, steps - zero[..., None], scales)
    with np.errstate(all="ignore"):
        real = ((steps - zero[..., None]) * scales[..., None]).reshape(units, -1)[
            :, : data.shape[-1]
        ]
        sums = data.astype(np.float64) @ real.astype(np.float64).T
        return np.asarray(sums, np.float32)


def _integer_product(data: Array, steps: Array, scales: Array) -> Array:
    """Quantize rows and multiply them by the weights' steps, [units, blocks, size]."""
    units, blocks, size = steps.shape
    rows = np.zeros((*data.shape[:-1], blocks * size), np.float32)
    rows[..., : data.shape[-1]] = data
    rows = rows.reshape(-1, blocks, size)
    largest = np.abs(rows).max(-1, initial=0)
    with np.errstate(all="ignore"):
        factors = np.where(largest > 0, _MOST / largest, np.float32(0))
    integers = np.rint(rows * factors[..., None]).astype(np.int64)
    sums = np.einsum("rbk,ubk->rub", integers, steps.astype(np.int64)).astype(np.float32)
    products = sums * ((largest / _MOST)[:, None] * scales)
    result = products.astype(np.float64).sum(-1).astype(np.float32)
    return np.asarray(result.reshape(*data.shape[:-1], units))
