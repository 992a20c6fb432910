"""Results of float32: sums in steps whose real value is known at run time.

For a row with scale a and zero point z, and a column with scale b, excess p for each step of the
zero point and bias c, the output of the sum x is

    real(x − z·p) · (a·b) + c

Each product and each sum of floats is rounded separately, as in LiteRT and ONNX Runtime.
"""

from dataclasses import dataclass

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.ir.arithmetic import rounded_apart
from legalize.kernels.ir.vectors import Array, Vector, lanes_in


@dataclass(frozen=True)
class Real(Epilogue):
    """The sequence.

    Attributes:
        has_points: whether sums depend on zero points.
        has_bias: whether a bias is added.
    """

    has_points: bool
    has_bias: bool

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve results of float32, by scales and biases; and the excess for zero points."""
        columns = scales.columns
        if output.dtype != "float32" or columns is None:
            return None
        reals = [columns.scale] if columns.bias is None else [columns.scale, columns.bias]
        arrays = [np.stack([deal(each, lanes) for each in reals], axis=1)]
        if columns.points is not None:
            arrays.append(deal(columns.points, lanes)[:, None])
        has_points, has_bias = columns.points is not None, columns.bias is not None
        return Chosen(cls(has_points, has_bias), tuple(arrays))

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the bits of the outputs, given scale and zero point of the row."""
        lanes = lanes_in(x)
        scale, point = addend
        if self.has_points:
            x = x - T.broadcast(point, lanes) * rows[1](0)
        real = T.Cast(f"float32x{lanes}", x) * (T.broadcast(scale, lanes) * rows[0](0))
        if self.has_bias:
            real = rounded_apart(real) + rows[0](1)
        return T.reinterpret(f"int32x{lanes}", real)
