"""Softmax of rows of bytes in one function, in the arithmetic of LiteRT.

With seven functions, one for each primitive, the calls took longer than the arithmetic.

    for each row
      largest = max(row)
      total = Σ terms[largest − x]
      fraction, down = reciprocal(total)
      for each x
        output = exponentials[largest − x]·fraction, rounded to 8 bits

The forms of this kernel are `long_rows`, `short_rows` and `even_rows`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.vectors import Index, Vector, lanes_in
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.softmax.steps import result
from legalize.written import flat, new_function, own_sizes

DISTANCES = 256


@dataclass
class Kernel(ABC):
    """The writer of one function: of its buffers, and of its results.

    Attributes:
        isa: the vectors.
        shape: the data's shape; the softmax is along the last axis.
        dtype: the data's dtype.
        out_dtype: the output's dtype.
        zero_point: the output's zero point.
        distances: the least distance from which every value's result is 0.
    """

    isa: VectorIsa
    shape: Sequence[Any]
    dtype: str
    out_dtype: str
    zero_point: int
    distances: int

    def build(self) -> tirx.PrimFunc:
        """Write the function.

        Returns:
            A function of the data; exponentials and terms of the sum by a value's distance from
            the largest, int32 [256] each, from ``qnn_ops.tables.softmax``; and the output.
        """
        shape = own_sizes(self.shape, {})
        self.rows, self.columns = prod(shape[:-1]), shape[-1]
        with new_function("softmax") as builder:
            data = T.arg("data", T.buffer(shape, self.dtype))
            self.exponentials, self.terms = (
                T.arg(name, T.buffer((DISTANCES,), "int32")) for name in ("exponentials", "terms")
            )
            output = T.arg("output", T.buffer(shape, self.out_dtype))
            self.source, self.target = flat(data), flat(output, "uint8")
            self.write()
        return builder.get()

    @abstractmethod
    def write(self) -> None:
        """Write the loops."""

    def store(self, place: Index, value: Vector) -> None:
        """Write the store of neighbouring results."""
        T.buffer_store(self.target, value, [ramp(place, lanes_in(value))])

    def result(self, exponential: Vector, fraction: Vector, down: Vector) -> Vector:
        """Return the results of exponentials."""
        return result(exponential, fraction, down, self.zero_point)
