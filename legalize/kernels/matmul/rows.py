"""The rows of products: their staging, and the loops over their tiles."""

from collections.abc import Callable
from math import prod

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, Tiling
from legalize.kernels.ir.rows import pieces, ramp
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import Buffer, Index, flipped, unsigned_min

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


def product_rows(
    rows: int,
    tiling: Tiling,
    batch: Index,
    tile: Callable[[Section, Index, Index], None],
) -> None:
    """Write the loops over the tiles of one product; the last one overlaps the one before.

    Args:
        rows: rows of a product.
        tiling: the tiles of one product.
        batch: the product's index.
        tile: writes a tile, given its section, block and first row among those of all products.
    """
    for section in tiling:
        with T.serial(section.blocks) as block, T.serial(-(-rows // section.mr)) as number:
            first = unsigned_min(number * section.mr, rows - section.mr)
            tile(section, block, batch * rows + first)
