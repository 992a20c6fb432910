"""The shape of a product of float32 matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from legalize.kernels.isa.base import VectorIsa
from qnn_ops.dialect.sizes import is_open

LEAST_ROWS = 4
"""With at least this many rows, packing the other matrix pays."""


@dataclass(frozen=True)
class View:
    """The layout of matrices in memory.

    Attributes:
        shape: of the tensor in memory.
        order: for each axis of the matrices, the index of the tensor's axis.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the matrices."""
        return tuple(self.shape[axis] for axis in self.order)

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride along each axis of the matrices."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in self.order)


@dataclass(frozen=True)
class FloatMatmul:
    """Products of matrices of float32. Sizes may be open.

    Attributes:
        lhs: [..., rows, depth]; its first axes equal those of rhs, or are broadcast.
        rhs: [..., depth, columns].
        output: [..., rows, columns].
        is_fused: whether a product and its sum are rounded once, not twice.
        panel: number of products in a chain that is added up separately; 0 for one chain. A single
            row is always one chain.
        causal_columns: how many rows form a matrix whose readers need the columns up to each row's
            own number; the others may hold anything. 0 if all are needed.
        causal_depth: how many rows of lhs form a matrix whose rows end in equal numbers, after the
            column of each row's own number. 0 if they do not, or if sums have several chains.
    """

    lhs: View
    rhs: View
    output: View
    is_fused: bool = True
    panel: int = 0
    causal_columns: int = 0
    causal_depth: int = 0

    @property
    def rows(self) -> int:
        """Rows of a product."""
        return self.output.extents[-2]

    @property
    def columns(self) -> int:
        """Columns of a product."""
        return self.rhs.extents[-1]

    @property
    def depth(self) -> int:
        """The number of products of one element of the result."""
        return self.rhs.extents[-2]

    @property
    def outer(self) -> tuple[int, ...]:
        """The axes before those of a matrix."""
        return self.output.extents[:-2]

    @property
    def is_transposed(self) -> bool:
        """Whether the columns of rhs are rows in memory."""
        return self.rhs.strides[-1] != 1

    def outer_strides(self, view: View) -> tuple[int, ...]:
        """Return the strides between the matrices of neighbouring products, axis by axis.

        The stride of an axis of size 1 is 0.
        """
        sizes = zip(view.extents[:-2], view.strides, strict=False)
        strides = tuple(0 if extent == 1 else stride for extent, stride in sizes)
        return (0,) * (len(self.outer) - len(strides)) + strides

    def with_shapes(self, shape_of: Callable[[Any], Any]) -> FloatMatmul:
        """Return the product with other sizes; ``shape_of`` replaces the shape of each tensor."""
        lhs, rhs, output = (
            replace(view, shape=shape_of(view.shape)) for view in (self.lhs, self.rhs, self.output)
        )
        return replace(self, lhs=lhs, rhs=rhs, output=output)


def is_served(spec: FloatMatmul, isa: VectorIsa) -> bool:
    """Tell whether the kernel serves a product.

    It does not serve small ones of known sizes, unless their sums have panels. TVM's own code
    serves processors that round a product before adding it.
    """
    if spec.is_fused and not isa.fuses_products:
        return False
    if spec.output.strides[-1] != 1 or 1 not in spec.rhs.strides[-2:]:
        return False
    if is_open((*spec.lhs.shape, *spec.rhs.shape)):
        return not spec.is_transposed or (not is_open([spec.depth]) and spec.depth >= isa.lanes)
    is_large = spec.rows >= LEAST_ROWS and min(spec.columns, spec.depth) >= isa.lanes
    has_panels = 0 < spec.panel < spec.depth and spec.rows > 1
    return (is_large or has_panels) and 0 not in (*spec.lhs.shape, *spec.rhs.shape)
