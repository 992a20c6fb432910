"""Adding another quantized tensor to outputs that are still in registers.

Four vectors of AVX512 are narrowed first: that clamps them, and as bytes they stand beside the
tensor's, so that one instruction multiplies both. Others are added to as they are.
"""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.spec import ConvSpec, Residual
from legalize.kernels.vector.add import affine_sums
from legalize.kernels.vector.affine import AffineForm
from legalize.kernels.vector.isa import as_unsigned, clamped, flipped, lanes_of
from legalize.kernels.vectors import lanes_in
from legalize.kernels.x86.isa import Isa
from legalize.kernels.x86.vector_isa import AVX512_VNNI, AVX512BW
from qnn_ops.attributes import dtype_range

_VECTORS = 4


def vectors_as_bytes(spec: ConvSpec, isa: Isa, groups: int, channels: int) -> int:
    """How many of the first vectors of a block end in ``add_residual_to_bytes``.

    Args:
        spec: The convolution.
        isa: The instruction set.
        groups: Vectors of channels in the block.
        channels: How many channels are real.
    """
    if spec.residual is None or isa.lanes != 16:
        return 0
    return min(groups, channels // isa.lanes) // _VECTORS * _VECTORS


def add_residual_to_bytes(spec: ConvSpec, isa: Isa, outputs: Any, tensor: Any) -> Any:
    """Build the expression of 64 sums.

    Args:
        spec: The convolution.
        isa: The instruction set, of AVX512.
        outputs: The convolution's outputs, bytes.
        tensor: The tensor's values, bytes.

    Returns:
        The sums after their clamp, bytes.
    """
    residual = spec.residual
    assert residual is not None
    # The form counts from the lowest values of the dtypes.
    lowest = [dtype_range(dtype)[0] for dtype in (spec.out_dtype, residual.dtype)]
    addend = residual.addend + residual.own * lowest[0] + residual.other * lowest[1]
    factors = residual.own, residual.other
    form = AffineForm(*factors, addend, residual.shift, residual.zero, residual.below)
    vectors = AVX512_VNNI if isa.has_byte_products else AVX512BW
    operands = as_unsigned(outputs, spec.out_dtype), as_unsigned(tensor, residual.dtype)
    sums = vectors.narrow_all(affine_sums(vectors, form, *operands))
    first, _ = dtype_range(residual.out_dtype)
    sums = clamped(sums, residual.out_min - first, residual.out_max - first)
    if residual.out_dtype == "uint8":
        return sums
    return T.reinterpret(f"int8x{lanes_of(sums)}", flipped(sums))


def add_residual(spec: ConvSpec, residual: Residual, output: Any, tensor: Any) -> Any:
    """Build the expression of the sums of one vector.

    Args:
        spec: The convolution.
        residual: What is added to it.
        output: int32 vector, the convolution's outputs before their clamp.
        tensor: int32 vector, the tensor's values.

    Returns:
        The sums before their clamp, int32.
    """
    lanes = lanes_in(output)

    def splat(value: int) -> Any:
        return T.broadcast(T.int32(value), lanes)

    clamped = T.max(T.min(output, splat(spec.out_max)), splat(spec.out_min))
    total = clamped * splat(residual.own) + splat(residual.addend)
    total = total + tensor * splat(residual.other)
    if residual.below:
        is_below = total < splat(residual.zero)
        total = total + T.Select(is_below, splat(residual.below), splat(0))
    scaled = T.shift_right(total, splat(residual.shift))
    return scaled + splat(residual.offset) if residual.offset else scaled
