"""The overlap of two boxes, as code of a loop."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import cell, put


def write_overlap(boxes: Any, one: Any, other: Any) -> Any:
    """Write the intersection of two boxes as a part of their union; return the cell of it.

    Args:
        boxes: float32, [boxes, 4]: corners, the lower one first.
        one: the number of a box.
        other: likewise.
    """

    def area(box: Any) -> Any:
        return (boxes[box, 2] - boxes[box, 0]) * (boxes[box, 3] - boxes[box, 1])

    def extent(axis: int) -> Any:
        low = T.max(boxes[one, axis], boxes[other, axis])
        high = T.min(boxes[one, axis + 2], boxes[other, axis + 2])
        return T.max(high - low, T.float32(0))

    result = cell("float32", T.float32(0))
    areas = cell("float32", area(one)), cell("float32", area(other))
    with T.If(T.And(areas[0][0] > T.float32(0), areas[1][0] > T.float32(0))), T.Then():
        both = cell("float32", extent(0) * extent(1))
        # Most boxes do not meet, and a division takes long.
        with T.If(both[0] > T.float32(0)), T.Then():
            put(result, both[0] / (areas[0][0] + areas[1][0] - both[0]))
    return result
