"""Adding another quantized tensor to outputs that are still floats.

The sum of an output a, which is rounded and clamped, and a byte b of the tensor is

    floor(a·s + (b·t + c))

before its clamp: one fused multiply-add rounded to nearest, and one rounded down, which changes no
floor. Proof that it is exact for some s, t and c: there are 256 inner sums, computed here as the
processor does, and with each of them at most 256 outputs. Their products are exact in float64, and
sums are taken to be right only if they are further from every integer that matters than float64
could have moved them. So all 65,536 pairs are tried, against the affine form of the sum. What fails
is mostly rounded wrongly by the inner sum, so other values next to s and t mostly serve.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import OutputStage, Residual
from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Array, Vector
from legalize.kernels.ir.vectors import splat
from legalize.kernels.isa.base import AffineForm
from qnn_ops.attributes import dtype_range
from qnn_ops.float_epilogue import fused_multiply_add_float32

# Round down, and raise no exception.
_DOWN = 9
_RADIUS = 4
# Sums below the largest are off by less than half of the margin in float64.
_LARGEST = 2.0**12
_MARGIN = 2.0**-36


@dataclass(frozen=True)
class FloatSum:
    """The sum, for vectors of AVX512.

    Attributes:
        low: lower bound of the convolution's outputs.
        high: upper bound of them.
        own: s, a float32.
        other: t, a float32.
        addend: c, a float32.
    """

    low: int
    high: int
    own: float
    other: float
    addend: float

    def emit(self, output: Vector, tensor: Vector) -> Vector:
        """Build the expression of the sums.

        Args:
            output: the bits of a float32 vector, the convolution's outputs before their clamp.
            tensor: int32 vector, the tensor's values.

        Returns:
            The sums before their clamp, int32.
        """
        lanes = lanes_in(output)
        real = f"float32x{lanes}"

        def constant(value: float) -> Vector:
            return splat("float32", value, lanes)

        value = T.reinterpret(real, output)
        clamped = T.max(T.min(value, constant(self.high)), constant(self.low))
        inner = T.call_llvm_pure_intrin(
            real,
            f"llvm.fma.v{lanes}f32",
            T.Cast(real, tensor),
            constant(self.other),
            constant(self.addend),
        )
        return floor_of_product(clamped, constant(self.own), inner)


def floor_of_product(value: Vector, factor: Vector, addend: Vector) -> Vector:
    """Return the floor of value · factor + addend, int32x16."""
    total = product_rounded_down(value, factor, addend)
    zeros = T.broadcast(T.int32(0), 16)
    name = "llvm.x86.avx512.mask.cvtps2dq.512"
    return T.call_llvm_pure_intrin("int32x16", name, total, zeros, T.int16(-1), T.int32(_DOWN))


def product_rounded_down(value: Vector, factor: Vector, addend: Vector) -> Vector:
    """Return value · factor + addend, float32x16, rounded once."""
    name = "llvm.x86.avx512.vfmadd.ps.512"
    return T.call_llvm_pure_intrin("float32x16", name, value, factor, addend, T.int32(_DOWN))


@cache
def float_sum(output: OutputStage, residual: Residual) -> FloatSum | None:
    """Find factors for which the sum is exact.

    Args:
        output: the convolution's own.
        residual: the tensor, and the sums.

    Returns:
        None if there are none near the real ones.
    """
    form, stored = residual.form, residual.output
    assert isinstance(form, AffineForm)
    own = np.arange(output.low, output.high + 1)[:, None]
    other = np.arange(*dtype_range(residual.dtype))
    other = np.append(other, other[-1] + 1)
    total = own * form.lhs + other * form.rhs + form.addend
    total += np.where(total < form.zero, form.below, 0)
    sums = np.clip((total >> form.shift) + dtype_range(stored.dtype)[0], stored.low, stored.high)
    # Between these a sum must be; where it is clamped, on one side of one of them.
    least = np.where(sums > stored.low, sums, -np.inf)
    most = np.where(sums < stored.high, sums + 1, np.inf)
    for s, t in _factors(form.lhs / 2.0**form.shift, form.rhs / 2.0**form.shift):
        products = own * s
        exact = products + other * t
        ends = (least - exact).max(), (most - exact).min()
        if not np.isfinite(ends).all() or ends[0] >= ends[1]:
            continue
        c = float(np.float32(sum(ends) / 2))
        if np.abs(exact).max() + abs(c) >= _LARGEST:
            return None
        rounded = products + fused_multiply_add_float32(other, t, c).astype(np.float64)
        if (rounded >= least + _MARGIN).all() and (rounded <= most - _MARGIN).all():
            return FloatSum(output.low, output.high, s, t, c)
    return None


def _factors(own: float, other: float) -> Iterator[tuple[float, float]]:
    """Return pairs of float32 near two factors, the nearest first."""
    around = range(-_RADIUS, _RADIUS + 1)
    pairs = [(left, right) for left in around for right in around]
    for left, right in sorted(pairs, key=lambda pair: (max(map(abs, pair)), pair)):
        yield _moved(own, left), _moved(other, right)


def _moved(value: float, steps: int) -> float:
    """Return a float32 that is some steps of its last bit from the one next to a value."""
    nearest: Array = np.array(value, np.float32)
    return float((nearest.view(np.int32) + steps).view(np.float32))
