"""select_boxes as loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.heaps import write_first_in_order
from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.overlap import write_overlap
from legalize.primitives.registry import primitive
from qnn_ops.boxes import CORNERS, select_boxes
from qnn_ops.registry import Attrs, spec_of

_MOST_LANES = 4  # as a power of two


@primitive(select_boxes)
def _select_boxes(
    builder: relax.BlockBuilder, attrs: Attrs, boxes: relax.Expr, scores: relax.Expr
) -> relax.Expr:
    count, classes = spec_of(scores).shape
    slots = attrs.most * (1 if attrs.by_class else attrs.classes_per_box)
    function = _function(attrs, count, classes, slots)
    return call_loops(builder, "select_boxes", function, [boxes, scores], (1 + slots,), "int32")


def _function(attrs: Attrs, count: int, classes: int, slots: int) -> tirx.PrimFunc:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("select_boxes")
        T.func_attr({"global_symbol": "select_boxes", "tirx.noalias": True})
        boxes = T.arg("boxes", T.buffer((count, CORNERS), "float32"))
        scores = T.arg("scores", T.buffer((count, classes), "float32"))
        output = T.arg("output", T.buffer((1 + slots,), "int32"))
        left = T.alloc_buffer((count,), "int32", scope="global")
        with T.serial(1 + slots) as i:
            put(output, T.if_then_else(i == 0, 0, -1), i)
        if attrs.by_class:
            found = T.alloc_buffer((attrs.most,), "float32", scope="global")
            with T.serial(classes) as each:
                number = cell("int32", each)

                def score(box: Any) -> Any:
                    return scores[box, number[0]]

                def insert(box: Any, _rank: Any) -> None:
                    place = box * classes + number[0]
                    _write_insertion(output, found, attrs.most, place, score(box))

                _write_choice(attrs, boxes, left, score, attrs.most_of_class, insert)
        else:
            best = T.alloc_buffer((count,), "float32", scope="global")
            _write_best(best, scores)

            def give(box: Any, rank: Any) -> None:
                put(output, rank + 1)
                start = rank * attrs.classes_per_box + 1
                _write_classes(output, scores, attrs.classes_per_box, box, start)

            _write_choice(attrs, boxes, left, lambda box: best[box], attrs.most, give)
    return builder.get()


def _write_best(best: Any, scores: Any) -> None:
    """Write the loop that finds the best score of each box, some classes at a time."""
    count, classes = (int(extent) for extent in scores.shape)
    lanes = 1 << min(_MOST_LANES, classes.bit_length() - 1)
    highest = T.alloc_buffer((lanes,), "float32", scope="global")
    with T.serial(count) as box:
        with T.vectorized(lanes) as lane:
            put(highest, scores[box, lane], lane)
        with T.serial(-(-classes // lanes) - 1) as part:
            # The last part overlaps the one before.
            first = T.min((part + 1) * lanes, T.int32(classes - lanes))
            with T.vectorized(lanes) as lane:
                put(highest, T.max(highest[lane], scores[box, first + lane]), lane)
        while lanes > 1:
            lanes //= 2
            with T.vectorized(lanes) as lane:
                put(highest, T.max(highest[lane], highest[lane + lanes]), lane)
        put(best, highest[0], box)


def _write_choice(
    attrs: Attrs,
    boxes: Any,
    left: Any,
    score: Callable[[Any], Any],
    most: int,
    take: Callable[[Any, Any], None],
) -> None:
    """Write the loop that takes the best box that is left, and drops those that overlap it.

    Args:
        attrs: of the operator.
        boxes: all.
        left: int32, memory for the numbers of boxes that are left, in rising order.
        score: gives that of a box.
        most: how many to take.
        take: writes what is done with a box and its rank.
    """
    count = int(boxes.shape[0])
    size, rank = cell("int32", 0), cell("int32", 0)
    threshold, limit = T.float32(attrs.score_threshold), T.float32(attrs.iou_threshold)
    with T.serial(count) as box, T.If(score(box) >= threshold), T.Then():
        put(left, box, size[0])
        put(size, size[0] + 1)
    with T.While(T.And(size[0] > 0, rank[0] < most)):
        chosen = cell("int32", left[0])
        with T.serial(size[0]) as i, T.If(score(left[i]) > score(chosen[0])), T.Then():
            put(chosen, left[i])
        take(chosen[0], rank[0])
        put(rank, rank[0] + 1)
        kept = cell("int32", 0)
        with T.serial(size[0]) as i, T.If(left[i] != chosen[0]), T.Then():
            part = write_overlap(boxes, chosen[0], left[i])
            # Where it is no number nothing is dropped.
            with T.If(part[0] > limit):
                with T.Then():
                    T.evaluate(0)
                with T.Else():
                    put(left, left[i], kept[0])
                    put(kept, kept[0] + 1)
        put(size, kept[0])


def _write_insertion(output: Any, found: Any, most: int, place: Any, score: Any) -> None:
    """Write a place behind those of scores that are as good, if there is room."""
    hole = cell("int32", output[0])
    with T.If(T.And(hole[0] == most, found[most - 1] < score)), T.Then():
        put(hole, most - 1)
    with T.If(hole[0] < most), T.Then():
        put(output, T.min(output[0] + 1, most))
        goes_on = cell("int32", 1)
        with T.While(T.And(goes_on[0] == 1, hole[0] > 0)), T.If(found[hole[0] - 1] < score):
            with T.Then():
                put(found, found[hole[0] - 1], hole[0])
                put(output, output[hole[0]], hole[0] + 1)
                put(hole, hole[0] - 1)
            with T.Else():
                put(goes_on, 0)
        put(found, score, hole[0])
        put(output, place, hole[0] + 1)


def _write_classes(output: Any, scores: Any, wanted: int, box: Any, start: Any) -> None:
    """Write the places of a box's best classes."""
    classes = int(scores.shape[1])
    if wanted == 1 or classes == 1:
        best = cell("int32", 0)
        with T.serial(classes) as each, T.If(scores[box, each] > scores[box, best[0]]), T.Then():
            put(best, each)
        put(output, box * classes + best[0], start)
        return
    heap = T.alloc_buffer((classes,), "int32", scope="global")
    given = min(wanted, classes)
    write_first_in_order(heap, classes, given, lambda a, b: scores[box, a] > scores[box, b])
    with T.serial(given) as i:
        put(output, box * classes + heap[i], start + i)
