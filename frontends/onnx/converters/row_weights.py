"""Weights that rows of float32 are multiplied by, as they are or quantized when they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.dynamic_quantize_linear import quantized
from frontends.onnx.converters.matmul_integer import dense

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class FloatWeights:
    """Weights of float32.

    Attributes:
        array: [units, depth].
    """

    array: Array

    def product(self, builder: ModuleBuilder, rows: relax.Expr) -> relax.Expr:
        """Multiply rows, [count, depth]."""
        return builder.emit(R.matmul(rows, relax.const(np.ascontiguousarray(self.array.T))))

    def part(self, begin: int, end: int) -> FloatWeights:
        """Return the weights of some units."""
        return FloatWeights(self.array[begin:end])


@dataclass(frozen=True)
class ByteWeights:
    """Weights of bytes, whose rows are quantized together by the range of their numbers.

    Attributes:
        array: [depth, units].
        scales: one, or one for each unit.
        points: the zero point.
    """

    array: Array
    scales: Array
    points: Array

    def product(self, builder: ModuleBuilder, rows: relax.Expr) -> relax.Expr:
        """Multiply rows, [count, depth]: int32 sums, times the product of both scales."""
        values, scale, point = quantized(builder, rows)
        sums = builder.emit(dense(builder, values, self.array, point, self.points))
        factor = builder.emit(R.multiply(scale, relax.const(self.scales)))
        return builder.emit(R.multiply(builder.emit(R.astype(sums, "float32")), factor))
