"""Adding another quantized tensor to outputs that are still in registers.

Vectors are narrowed first, and stand beside the tensor's values, so that one instruction multiplies
both: four become bytes, which clamps them; without AVX512, two become words. Those that are left
are added to as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec, Residual
from legalize.kernels.elementwise.add import affine_sums, rounded
from legalize.kernels.ir.registers import kept, lanes_in
from legalize.kernels.isa.base import as_unsigned, clamped, flipped, lanes_of, splat
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.isa.x86_instructions import narrow_pair
from legalize.kernels.isa.x86_vectors import AVX2, AVX512_VNNI, AVX512BW, SSE41, X86Vectors
from qnn_ops.attributes import dtype_range

_VECTORS = 4


def _vectors(isa: Isa) -> X86Vectors:
    """The vectors of an instruction set's residual sums."""
    if isa.lanes < 16:
        return AVX2 if isa.lanes == 8 else SSE41
    return AVX512_VNNI if isa.has_byte_products else AVX512BW


def vectors_as_bytes(spec: ConvSpec, isa: Isa, groups: int, channels: int) -> int:
    """How many of the first vectors of a block end in ``add_residual_to_bytes``.

    Args:
        spec: The convolution.
        isa: The instruction set.
        groups: Vectors of channels in the block.
        channels: How many channels are real.
    """
    if spec.fusion.residual is None:
        return 0
    return min(groups, channels // isa.lanes) // _VECTORS * _VECTORS


def add_residual_to_bytes(spec: ConvSpec, isa: Isa, outputs: Any, tensor: Any) -> Any:
    """Build the expression of the sums of four vectors.

    Args:
        spec: The convolution.
        isa: The instruction set.
        outputs: The convolution's outputs, bytes.
        tensor: The tensor's values, bytes.

    Returns:
        The sums after their clamp, bytes.
    """
    residual = spec.fusion.residual
    assert residual is not None
    # The form counts from the lowest values of the dtypes.
    lowest = [dtype_range(dtype)[0] for dtype in (spec.output.dtype, residual.dtype)]
    form = residual.form
    form = replace(form, addend=form.addend + form.lhs * lowest[0] + form.rhs * lowest[1])
    vectors = _vectors(isa)
    operands = as_unsigned(outputs, spec.output.dtype), as_unsigned(tensor, residual.dtype)
    sums = vectors.narrow_all(affine_sums(vectors, form, *operands))
    output = residual.output
    first, _ = dtype_range(output.dtype)
    sums = clamped(sums, output.low - first, output.high - first)
    if output.dtype == "uint8":
        return sums
    return T.reinterpret(f"int8x{lanes_of(sums)}", flipped(sums))


def vectors_as_words(spec: ConvSpec, isa: Isa, groups: int) -> int:
    """How many of the first vectors of a block are for ``add_residual_to_words``, if not as bytes.

    Args:
        spec: The convolution.
        isa: The instruction set.
        groups: Vectors of channels in the block.
    """
    return 0 if spec.fusion.residual is None or isa.lanes == 16 else groups // 2 * 2


def add_residual_to_words(spec: ConvSpec, isa: Isa, pair: Sequence[Any], tensor: Any) -> list[Any]:
    """Build the expressions of the sums of two vectors.

    Args:
        spec: The convolution.
        isa: The instruction set, of 4 or 8 lanes.
        pair: int32 vectors, the convolution's outputs before their clamp.
        tensor: The tensor's values, from ``load_addend_words``.

    Returns:
        For each vector the sums before their clamp, int32.
    """
    residual = spec.fusion.residual
    assert residual is not None
    output = spec.output
    low, high = (splat("int16", bound, 2 * isa.lanes) for bound in (output.low, output.high))
    words = kept(T.max(T.min(narrow_pair(*pair), high), low))
    form = residual.form
    offset = splat("int32", dtype_range(residual.output.dtype)[0], isa.lanes)
    vectors = _vectors(isa)
    sums = []
    for both in vectors.pairs_of_words(words, kept(tensor)):
        total = kept(vectors.affine_of_pairs(form, kept(both)))
        sums.append(rounded(form, total) + offset)
    return sums


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

    clamped = T.max(T.min(output, splat(spec.output.high)), splat(spec.output.low))
    form = residual.form
    total = clamped * splat(form.lhs) + splat(form.addend)
    total = total + tensor * splat(form.rhs)
    if form.below:
        is_below = total < splat(form.zero)
        total = total + T.Select(is_below, splat(form.below), splat(0))
    scaled = T.shift_right(total, splat(form.shift))
    offset, _ = dtype_range(residual.output.dtype)
    return scaled + splat(offset) if offset else scaled
