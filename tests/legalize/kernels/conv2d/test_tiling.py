from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import (
    first_byte,
    lies_in_line,
    origins_of,
    share_tiles,
    split_vectors,
)
from tests.support.errors import giving

test_vectors_are_cut_into_blocks = giving(
    lambda cut: split_vectors(*cut),
    ((12, 4, False), [(0, 3, 4)]),
    # Channels that do not fill the last vector are in a block that knows where to stop.
    ((12, 4, True), [(0, 2, 4), (8, 1, 4)]),
    ((4, 4, True), [(0, 1, 4)]),
    ((14, 4, True), [(0, 3, 4), (12, 1, 2)]),
    ((3, 4, False), [(0, 1, 3)]),
)


@pytest.mark.parametrize(("blocks", "tiles", "tasks"), [(1, 7, 3), (5, 3, 4), (3, 4, 2), (2, 1, 4)])
def test_tasks_share_every_tile_once(blocks: int, tiles: int, tasks: int) -> None:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_attr({"global_symbol": "count", "tirx.noalias": True})
        counts = T.arg("counts", T.buffer((blocks, tiles), "int32"))

        def write(block: Any, start: Any, stop: Any) -> None:
            with T.serial(stop - start) as number:
                tile = start + number
                T.buffer_store(counts, counts[block, tile] + 1, [block, tile])

        with T.serial(tasks) as task:
            share_tiles(blocks, tiles, task, tasks, write)
    library = tvm.compile(builder.get(), target="llvm")
    found = tvm.runtime.tensor(np.zeros((blocks, tiles), np.int32))
    library["count"](found)
    np.testing.assert_array_equal(found.numpy(), np.ones((blocks, tiles)))


@pytest.mark.parametrize(
    ("spec", "mr", "expected"),
    [
        # Rows of 12 outputs: a tile of 4 stays in one, a tile of 5 does not.
        (ConvSpec(2, 25, 25, 8, 3, 3, 16, strides=(2, 2)), 4, True),
        (ConvSpec(2, 25, 25, 8, 3, 3, 16, strides=(2, 2)), 5, False),
        # Rows touch where each pixel reads its own.
        (ConvSpec(1, 7, 7, 8, 1, 1, 16), 5, True),
    ],
)
def test_pixels_of_a_tile_in_a_line_read_at_equal_distances(
    spec: ConvSpec, mr: int, expected: bool
) -> None:
    assert lies_in_line(spec, mr) == expected
    starts = range(0, spec.out_pixels - mr + 1, mr)
    offset = 5
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_attr({"global_symbol": "places", "tirx.noalias": True})
        places = T.arg("places", T.buffer((len(starts), mr), "int32"))
        with T.serial(len(starts)) as tile:
            for i, place in enumerate(origins_of(spec, tile * mr, mr).plus(offset)):
                T.buffer_store(places, place, [tile, i])
    found = tvm.runtime.tensor(np.zeros((len(starts), mr), np.int32))
    tvm.compile(builder.get(), target="llvm")["places"](found)
    for first, row in zip(starts, found.numpy(), strict=True):
        wanted = [int(first_byte(spec, T.int32(first + i))) + offset for i in range(mr)]
        assert row.tolist() == wanted
