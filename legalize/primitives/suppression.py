"""suppress_boxes and suppress_by_class as loops."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.boxes import write_overlap, write_pop, write_push
from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import primitive
from qnn_ops.boxes import CORNERS
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.suppression import ROW, suppress_boxes, suppress_by_class


@primitive(suppress_boxes)
def _suppress_boxes(
    builder: relax.BlockBuilder, attrs: Attrs, boxes: relax.Expr, scores: relax.Expr
) -> relax.Expr:
    function = _boxes_loops(attrs, spec_of(scores).shape[0])
    shape = (1 + attrs.most,)
    return call_loops(builder, "suppress_boxes", function, [boxes, scores], shape, "int32")


def _boxes_loops(attrs: Attrs, count: int) -> tirx.PrimFunc:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("suppress_boxes")
        T.func_attr({"global_symbol": "suppress_boxes", "tirx.noalias": True})
        boxes = T.arg("boxes", T.buffer((count, CORNERS), "float32"))
        scores = T.arg("scores", T.buffer((count,), "float32"))
        output = T.arg("output", T.buffer((1 + attrs.most,), "int32"))
        ordered = T.alloc_buffer((count, CORNERS), "float32", scope="global")
        waiting = T.alloc_buffer((count,), "int32", scope="global")
        begins = T.alloc_buffer((count,), "int32", scope="global")
        size = cell("int32", 0)

        def before(one: Any, other: Any) -> Any:
            return scores[one] < scores[other]

        with T.serial(1 + attrs.most) as i:
            put(output, 0, i)
        with T.serial(count) as box:
            put(begins, 0, box)
            for axis in range(CORNERS // 2):
                ends = boxes[box, axis], boxes[box, axis + 2]
                T.buffer_store(ordered, T.min(*ends), [box, axis])
                T.buffer_store(ordered, T.max(*ends), [box, axis + 2])
            with T.If(scores[box] > T.float32(attrs.score_threshold)), T.Then():
                write_push(waiting, size, box, before)
        most = cell("int32", T.min(size[0], attrs.most))
        with T.While(T.And(output[0] < most[0], size[0] > 0)):
            chosen = write_pop(waiting, size, before)
            overlaps = cell("int32", 0)
            with T.serial(output[0] - begins[chosen[0]]) as i:
                rival = output[1 + begins[chosen[0]] + i]
                part = write_overlap(ordered, chosen[0], rival)
                with T.If(part[0] >= T.float32(attrs.iou_threshold)), T.Then():
                    put(overlaps, 1)
            put(begins, output[0], chosen[0])
            with T.If(overlaps[0] == 0), T.Then():
                put(output, chosen[0], output[0] + 1)
                put(output, output[0] + 1)
                write_push(waiting, size, chosen[0], before)
    return builder.get()


@primitive(suppress_by_class)
def _suppress_by_class(
    builder: relax.BlockBuilder, attrs: Attrs, *operands: relax.Expr
) -> relax.Expr:
    images, classes, count = spec_of(operands[1]).shape
    function = _classes_loops(attrs, images, classes, count)
    shape = (1 + images * classes * attrs.most, ROW)
    return call_loops(builder, "suppress_by_class", function, [*operands], shape, "int64")


def _classes_loops(attrs: Attrs, images: int, classes: int, count: int) -> tirx.PrimFunc:
    size = 1 + images * classes * attrs.most
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("suppress_by_class")
        T.func_attr({"global_symbol": "suppress_by_class", "tirx.noalias": True})
        boxes = T.arg("boxes", T.buffer((images, count, CORNERS), "float32"))
        scores = T.arg("scores", T.buffer((images, classes, count), "float32"))
        asked = T.arg("count", T.buffer((1,), "int64"))
        limits = T.arg("limits", T.buffer((2,), "float32"))
        output = T.arg("output", T.buffer((size, ROW), "int64"))
        ends = T.alloc_buffer((count, CORNERS), "float32", scope="global")
        waiting = T.alloc_buffer((count,), "int32", scope="global")
        chosen = T.alloc_buffer((max(attrs.most, 1),), "int32", scope="global")
        found, most = cell("int32", 0), cell("int64", T.min(asked[0], T.int64(attrs.most)))
        with T.serial(size) as i, T.serial(ROW) as j:
            T.buffer_store(output, T.int64(0), [i, j])
        with T.serial(images) as image:
            _write_ends(attrs, boxes, ends, image, count)
            with T.serial(classes) as number:
                left, kept = cell("int32", 0), cell("int32", 0)

                def before(one: Any, other: Any, image: Any = image, number: Any = number) -> Any:
                    first, second = scores[image, number, one], scores[image, number, other]
                    return T.Or(first < second, T.And(first == second, one > other))

                with T.serial(count) as box:
                    counts = T.Or(attrs.takes_all, scores[image, number, box] > limits[1])
                    with T.If(counts), T.Then():
                        write_push(waiting, left, box, before)
                with T.While(T.And(T.Cast("int64", kept[0]) < most[0], left[0] > 0)):
                    best = write_pop(waiting, left, before)
                    overlaps = cell("int32", 0)
                    with T.serial(kept[0]) as i, T.If(overlaps[0] == 0), T.Then():
                        _write_overlap(ends, best[0], chosen[i], limits[0], overlaps)
                    with T.If(overlaps[0] == 0), T.Then():
                        put(chosen, best[0], kept[0])
                        put(kept, kept[0] + 1)
                        put(found, found[0] + 1)
                        for column, each in enumerate((image, number, best[0])):
                            T.buffer_store(output, T.Cast("int64", each), [found[0], column])
        for column in range(ROW):
            T.buffer_store(output, T.Cast("int64", found[0]), [0, column])
    return builder.get()


def _write_ends(attrs: Attrs, boxes: Any, ends: Any, image: Any, count: int) -> None:
    """Write the lower and higher corners of an image's boxes."""
    with T.serial(count) as box:
        for axis in range(CORNERS // 2):
            low, high = boxes[image, box, axis], boxes[image, box, axis + 2]
            if attrs.has_centers:
                half = high * T.float32(0.5)
                pair = low - half, low + half
            else:
                pair = T.min(low, high), T.max(low, high)
            for place, each in enumerate(pair):
                T.buffer_store(ends, each, [box, axis + 2 * place])


def _write_overlap(ends: Any, one: Any, other: Any, limit: Any, overlaps: Any) -> None:
    """Write 1 to a cell if two boxes overlap by more than a part of their union."""

    def side(axis: int) -> Any:
        low = T.max(ends[one, axis], ends[other, axis])
        return T.min(ends[one, axis + 2], ends[other, axis + 2]) - low

    def area(box: Any) -> Any:
        return cell("float32", (ends[box, 2] - ends[box, 0]) * (ends[box, 3] - ends[box, 1]))

    sides = cell("float32", side(0)), cell("float32", side(1))
    zero = T.float32(0)
    # Most boxes do not meet.
    with T.If(T.And(sides[0][0] > zero, sides[1][0] > zero)), T.Then():
        both, first, second = cell("float32", sides[0][0] * sides[1][0]), area(one), area(other)
        union = cell("float32", first[0] + second[0] - both[0])
        areas = T.And(first[0] > zero, second[0] > zero)
        areas = T.And(areas, T.And(both[0] > zero, union[0] > zero))
        with T.If(T.And(areas, both[0] / union[0] > limit)), T.Then():
            put(overlaps, 1)
