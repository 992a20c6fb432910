"""Sums and differences of two tensors of bytes by AVX512-VNNI, 64 at a time.

Operands are interleaved to pairs of int16, of which vpmaddwd and vpdpwssd make the affine form:
its factors have more than 16 bits, so the products of their upper and lower parts are taken
apart. Interleaving and narrowing work on quarters of the vectors alike, so the order is kept.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.rows import BYTES
from legalize.kernels.tasks import shared_loop, task_count
from legalize.kernels.vector.affine import AffineForm
from legalize.kernels.x86.vnni import narrow_pair, narrow_to_bytes

# Roughly what one thread adds.
_BYTES_PER_MICROSECOND = 8_000
_LANES = 16
_LOWER_BITS = 15


@cache
def add(
    shape: tuple[int, ...],
    form: AffineForm,
    dtypes: tuple[str, str, str],
    bounds: tuple[int, int],
) -> tirx.PrimFunc:
    """Build the function that adds two tensors.

    Needs a target with ``avx512vnni`` and ``avx512bw``.

    Args:
        shape: Of the tensors, of at least ``BYTES`` values.
        form: The sum.
        dtypes: int8 or uint8 each: of lhs, of rhs and of the output.
        bounds: The lowest and highest output.

    Returns:
        A function of lhs, rhs and the output.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("add")
        T.func_attr({"global_symbol": "add", "tirx.noalias": True})
        names = ("lhs", "rhs", "output")
        tensors = [
            T.arg(name, T.buffer(shape, dtype)) for name, dtype in zip(names, dtypes, strict=True)
        ]
        size = prod(shape)
        lhs, rhs, output = (
            T.decl_buffer((size,), tensor.dtype, data=tensor.data) for tensor in tensors
        )

        def at(offset: Any) -> None:
            operands = [_unsigned(source, offset) for source in (lhs, rhs)]
            total = _narrow([_sum(form, pairs) for pairs in _pairs(*operands)], dtypes[2])
            T.buffer_store(output, _clamp(total, dtypes[2], bounds), [T.ramp(offset, 1, BYTES)])

        tasks = task_count(size / _BYTES_PER_MICROSECOND)
        shared_loop(tasks, size // BYTES, lambda i: at(i * BYTES))
        if size % BYTES:
            # The last vector overlaps the one before.
            at(T.int32(size - BYTES))
    return builder.get()


def _unsigned(source: Any, offset: Any) -> Any:
    """A vector less the lowest value of its dtype."""
    value = source[T.ramp(offset, 1, BYTES)]
    if source.dtype == "int8":
        value = T.reinterpret(f"uint8x{BYTES}", value)
        return T.bitwise_xor(value, T.broadcast(T.uint8(128), BYTES))
    return value


def _pairs(lhs: Any, rhs: Any) -> list[Any]:
    """The operands side by side as int16x32, in the order that narrowing undoes."""
    zero = T.broadcast(T.uint8(0), BYTES)
    halves = [_unpack(lhs, rhs, half) for half in (0, 1)]
    wide = [_unpack(value, zero, half) for value in halves for half in (0, 1)]
    return [T.reinterpret("int16x32", value) for value in wide]


def _unpack(a: Any, b: Any, half: int) -> Any:
    """Vpunpcklbw or vpunpckhbw: the bytes of one half of each quarter, alternating."""
    places = [
        quarter * 16 + half * 8 + byte + which * BYTES
        for quarter in range(4)
        for byte in range(8)
        for which in (0, 1)
    ]
    return T.Shuffle([a, b], places)


def _sum(form: AffineForm, pairs: Any) -> Any:
    factors = np.array([form.lhs, form.rhs])
    upper = (factors + (1 << (_LOWER_BITS - 1))) >> _LOWER_BITS
    lower = factors - (upper << _LOWER_BITS)
    high = T.shift_left(
        _pair_products(pairs, _splat_pair(upper)), T.broadcast(T.int32(_LOWER_BITS), _LANES)
    )
    low = _add_pair_products(T.broadcast(T.int32(form.addend), _LANES), pairs, _splat_pair(lower))
    return T.shift_right(high + low, T.broadcast(T.int32(form.shift), _LANES))


def _pair_products(a: Any, b: Any) -> Any:
    """Vpmaddwd: in each int32 lane, the sum of the products of two pairs of int16."""
    return T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.pmaddw.d.512", a, b)


def _add_pair_products(accumulator: Any, a: Any, b: Any) -> Any:
    """Vpdpwssd: add the products of two pairs of int16 to each int32 lane."""
    return T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpwssd.512", accumulator, a, b)


def _splat_pair(pair: Any) -> Any:
    both = np.array(pair, np.int16).view(np.int32)
    return T.reinterpret("int16x32", T.broadcast(T.int32(int(both[0])), _LANES))


def _narrow(vectors: list[Any], dtype: str) -> Any:
    return narrow_to_bytes(narrow_pair(*vectors[:2]), narrow_pair(*vectors[2:]), dtype)


def _clamp(value: Any, dtype: str, bounds: tuple[int, int]) -> Any:
    """Clamp bytes that are saturated already."""
    limits = np.iinfo(dtype)
    literal = getattr(T, dtype)
    if bounds[0] > limits.min:
        value = T.max(value, T.broadcast(literal(bounds[0]), BYTES))
    if bounds[1] < limits.max:
        value = T.min(value, T.broadcast(literal(bounds[1]), BYTES))
    return value
