"""The loops of products whose weights are packed first, and the staging of their rows."""

from abc import abstractmethod
from math import prod

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, TileLoops
from legalize.kernels.ir.rows import pieces, ramp
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    flipped,
    get_lanes,
    local_vector,
    set_lanes,
    splat,
    unsigned_min,
)
from legalize.kernels.matmul.pack import SIDE, Layout, Packer
from legalize.kernels.matmul.spec import MatmulSpec

_BYTES = 64


def staged(lhs: Buffer, spec: ConvSpec, tasks: int) -> Buffer:
    """Return the data as one row of the multiplied dtype: a copy, if its own dtype differs."""
    size = prod(spec.in_shape)
    dtype = spec.staged_dtype
    if lhs.dtype == dtype:
        return T.decl_buffer((size,), dtype, data=lhs.data)
    source = T.decl_buffer((size,), "uint8", data=lhs.data)
    copy = T.alloc_buffer((size,), dtype, scope="global")

    def piece(offset: Index, lanes: int) -> None:
        name = dtype if lanes == 1 else f"{dtype}x{lanes}"
        value = T.reinterpret(name, flipped(source[ramp(offset, lanes)]))
        T.buffer_store(copy, value, [ramp(offset, lanes)])

    whole, parts = pieces(size, _BYTES)
    if whole:
        shared_loop(tasks, whole, lambda i: piece(i * _BYTES, _BYTES))
    for offset, lanes in parts:
        piece(T.int32(offset), lanes)
    return copy


class ProductLoops(TileLoops):
    """The writer of the loops over products: dense layers whose weights are packed first.

    Attributes:
        matmul: the products.
        spec: a dense layer that has the same sums.
        rhs: all matrices to pack, as one row.
        k_steps: the K-steps of a sum.
        vector_stride: values of a vector's columns in the packed matrix.
        weight_dtype: the dtype of the packed matrix.
    """

    matmul: MatmulSpec
    spec: ConvSpec
    rhs: Buffer
    k_steps: Index
    vector_stride: Index
    weight_dtype: str = "int8"

    @abstractmethod
    def _layout(self) -> Layout:
        """Return the order of the packed matrix."""

    @abstractmethod
    def _store(self, square: Vector, start: Index, place: Index) -> None:
        """Write a square into the packed matrix; see ``pack.Store``."""

    @abstractmethod
    def _addends(self, place: tuple[Index, Index]) -> Vector:
        """Return the constants that are added to sums of some columns."""

    @abstractmethod
    def _ones(self) -> Vector:
        """Return data of a K-step whose values are 1."""

    @abstractmethod
    def _add_weights(self, total: Buffer, ones: Vector, place: Index) -> None:
        """Add a K-step of a vector of columns, multiplied by ones, to sums."""

    def _loops(self) -> None:
        shared_loop(self.tasks, self.matmul.batches, self._product)

    def _product(self, batch: Index) -> None:
        """Write one product; the last tile of rows overlaps the one before."""
        layout, rows = self._layout(), self.matmul.rows
        size = layout.vectors * layout.vector_stride
        self.weights = T.alloc_buffer((size,), self.weight_dtype, scope="global")
        self.bias = Table.allocated((layout.vectors, layout.lanes), "int32")
        Packer(self.matmul, layout, self.rhs, self._store).pack(batch)
        for section in self.tiling:
            with T.serial(section.blocks) as block:
                vector = section.first_vector + block * section.nr
                self._add_up(section, vector, layout.lanes)
        for section in self.tiling:
            with T.serial(section.blocks) as block, T.serial(-(-rows // section.mr)) as number:
                first = unsigned_min(number * section.mr, rows - section.mr)
                self._tile(section, block, batch * rows + first)

    def _add_up(self, section: Section, first_vector: Index, lanes: int) -> None:
        """Write the bias of a block of columns."""
        with T.serial(section.nr) as number:
            place = first_vector + number, T.ramp(0, 1, lanes)
            bias = self._addends(place)
            point = self.spec.staged_zero_point
            if point:
                total = local_vector(lanes)
                set_lanes(total, splat("int32", 0, lanes))
                start = first_vector * self.vector_stride + number * (lanes * SIDE)
                ones = self._ones()
                with T.serial(self.k_steps) as k_step:
                    self._add_weights(total, ones, start + k_step * (section.nr * lanes * SIDE))
                bias = bias - get_lanes(total) * splat("int32", point, lanes)
            self.bias.store(bias, place)
