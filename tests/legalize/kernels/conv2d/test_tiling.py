from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section, share_tiles, split_vectors


@pytest.mark.parametrize(
    ("cut", "parts"),
    [
        ((12, 4, False), [(0, 3, 4)]),
        # What does not fill the last vector stands in a block that knows where to stop.
        ((12, 4, True), [(0, 2, 4), (8, 1, 4)]),
        ((4, 4, True), [(0, 1, 4)]),
        ((14, 4, True), [(0, 3, 4), (12, 1, 2)]),
        ((3, 4, False), [(0, 1, 3)]),
    ],
)
def test_vectors_are_cut_into_blocks(
    cut: tuple[int, int, bool], parts: list[tuple[int, int, int]]
) -> None:
    assert split_vectors(*cut) == parts


@pytest.mark.parametrize(("blocks", "tiles", "tasks"), [(1, 7, 3), (5, 3, 4), (3, 4, 2), (2, 1, 4)])
def test_tasks_share_every_tile_once(blocks: int, tiles: int, tasks: int) -> None:
    section = Section(first_vector=0, blocks=blocks, nr=1, mr=1)
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_attr({"global_symbol": "count", "tirx.noalias": True})
        counts = T.arg("counts", T.buffer((blocks, tiles), "int32"))

        def write(block: Any, start: Any, stop: Any) -> None:
            with T.serial(stop - start) as number:
                tile = start + number
                T.buffer_store(counts, counts[block, tile] + 1, [block, tile])

        with T.serial(tasks) as task:
            share_tiles(section, tiles, task, tasks, write)
    library = tvm.compile(builder.get(), target="llvm")
    found = tvm.runtime.tensor(np.zeros((blocks, tiles), np.int32))
    library["count"](found)
    np.testing.assert_array_equal(found.numpy(), np.ones((blocks, tiles)))
