"""Attention in float32: a softmax between two products of matrices, a few rows at a time.

    for each product                                    in parallel, if there are many
      keys, values = the packed matrices
      for every few rows                                in parallel, if there are few products
        scores = rows · keys
        probabilities = softmax(scores)
        output = probabilities · values

Scores and probabilities of these rows stay in a near cache. Each sum has the order that it has in
the kernels of products and softmax, which write the loops.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import prod

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_matmul.kernel import MOST_ROWS, TileKernel
from legalize.kernels.float_matmul.pack import Block
from legalize.kernels.float_matmul.spec import LEAST_ROWS, FloatMatmul, View
from legalize.kernels.ir.sums import tile_size
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import Buffer, Index, kept, unsigned_min
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.softmax.floats import LANES, Kernel
from legalize.written import new_function
from qnn_ops.dialect.sizes import is_open

_MOST_SCORES = 1 << 13
"""The most scores at a time, unless a tile has more."""
_MOST_TILES = 4
"""The most tiles of rows at a time. They read the same keys from the nearest cache."""
_MANY = 8
"""The least number of products that give every thread enough work."""


def is_attention(scores: FloatMatmul, softmax: Kernel, values: FloatMatmul) -> bool:
    """Tell whether one kernel computes two products and the softmax between them."""
    shapes = [*scores.lhs.shape, *scores.rhs.shape, *values.rhs.shape]
    if is_open(shapes) or softmax.is_logarithm:
        return False
    sizes = prod(scores.outer), scores.rows, scores.columns
    return (
        scores.rows >= LEAST_ROWS
        and sizes == (prod(values.outer), values.rows, values.depth)
        and (prod(softmax.shape), softmax.shape[-1]) == (prod(sizes), scores.columns)
    )


@cache
def attention(
    isa: VectorIsa, scores: FloatMatmul, softmax: str, values: FloatMatmul
) -> tirx.PrimFunc:
    """Build the function of attention.

    Args:
        isa: the vectors.
        scores: the first product.
        softmax: the description of the softmax's kernel.
        values: the second product.

    Returns:
        A function of the rows, the keys, the tensors of the softmax's steps, the values and the
        output.
    """
    # The memory between the products is that of a task, with rows of whole vectors.
    width = -(-scores.columns // LANES) * LANES
    inside = View((*scores.outer, scores.rows, width), tuple(range(len(scores.outer) + 2)))
    scores, values = replace(scores, output=inside), replace(values, lhs=inside)
    kernel = Kernel.described(softmax)
    kinds = [(view.shape, "float32") for view in (scores.lhs, scores.rhs)]
    ends = [(view.shape, "float32") for view in (values.rhs, values.output)]
    with new_function("attention") as builder:
        lhs, keys, *others, rhs, target = kernel.arguments(*kinds, *kernel.operands, *ends)
        products = (
            TileKernel(isa, scores, (lhs, keys, None)),
            TileKernel(isa, values, (None, rhs, target)),
        )
        _Attention(*products, kernel, others).write()
    return builder.get()


class _Attention:
    """The writer of the loops of one function."""

    def __init__(
        self, scores: TileKernel, values: TileKernel, softmax: Kernel, others: Sequence[Buffer]
    ) -> None:
        self.scores, self.values, self.softmax, self.others = scores, values, softmax, others
        self.size, self.products = scores.spec.rows, prod(scores.spec.outer)
        self.tile = tile_size(self.size, MOST_ROWS)
        self.rows = self.tile * self._tiles()
        sums = self.size * scores.spec.columns * (scores.spec.depth + values.spec.columns)
        self.has_many = self.products >= _MANY
        self.tasks = scores.task_count(sums * (self.products if self.has_many else 1))

    def _tiles(self) -> int:
        """Choose the number of tiles at a time, so that few rows are computed twice."""
        whole = -(-self.size // self.tile)
        most = min(_MOST_SCORES // (self.tile * self.scores.spec.columns), _MOST_TILES)
        sizes = range(1, max(1, min(most, self.size // self.tile)) + 1)
        return min(sizes, key=lambda tiles: -(-whole // tiles) * (_MOST_TILES * tiles + 1))

    def write(self) -> None:
        """Write the loop over products."""
        shared_loop(self.tasks if self.has_many else 1, self.products, self._product)

    def _product(self, product: Index) -> None:
        """Write the packing of a product's matrices, and the loop over its rows."""
        product = kept(product)
        packed = [_packed(each, product) for each in (self.scores, self.values)]
        spec = self.values.spec
        least = self.values.least_end(packed[1]) if spec.causal_depth else spec.depth
        lhs = kept(self.scores.start(self.scores.spec.lhs, product))
        output = kept(self.values.start(spec.output, product))

        def some(number: Index) -> None:
            # The last rows overlap those before, so two tasks may write the same numbers.
            first = kept(unsigned_min(number * self.rows, self.size - self.rows))
            width = spec.lhs.strides[-2]
            memory = T.alloc_buffer((self.rows * width,), "float32", scope="global")
            self.scores.target = self.values.lhs = memory
            self.softmax.prepare(self.others, self.rows)
            inside = kept(-first * width)
            self._multiply(self.scores, packed[0], (lhs, inside), self.scores.spec.depth, first)
            row = T.Cast("int64", product * self.size + first)
            self.softmax.write_rows(kept(row), T.int64(self.rows), memory, memory, memory)
            self._multiply(self.values, packed[1], (inside, output), least, first)

        tasks = 1 if self.has_many else self.tasks
        shared_loop(tasks, -(-self.size // self.rows), some)

    def _multiply(
        self,
        kernel: TileKernel,
        packed: Buffer,
        starts: tuple[Index, Index],
        least: Index,
        first: Index,
    ) -> None:
        """Write the tiles of some rows of a product."""
        for block, place in _blocks(kernel):
            load = kernel.packed_rows(packed, block.size, place)
            with T.serial(self.rows // self.tile) as number:
                kernel.tile(block, starts, least, load, kept(first + number * self.tile), self.tile)


def _packed(kernel: TileKernel, product: Index) -> Buffer:
    """Write the packing of all columns of a product's rhs."""
    spec, lanes = kernel.spec, kernel.lanes
    size = -(-spec.columns // lanes) * lanes * spec.depth
    packed = T.alloc_buffer((size,), "float32", scope="global")
    start = kept(kernel.start(spec.rhs, product))
    for block, place in _blocks(kernel):
        kernel.pack(packed, start, block, place)
    return packed


def _blocks(kernel: TileKernel) -> Iterator[tuple[Block, Index]]:
    """Write the loops over blocks of columns.

    Yields:
        For each loop a block, and its first vector in the packed matrix.
    """
    for first, blocks, size, is_last in kernel.sections():
        with T.serial(blocks) as number:
            vector = kept(first + number * size)
            yield (
                Block(kept(vector * kernel.lanes), size, is_last),
                kept(vector * kernel.spec.depth),
            )
