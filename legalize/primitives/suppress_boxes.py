"""suppress_boxes as loops."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.heaps import write_pop, write_push
from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.overlap import write_overlap
from legalize.primitives.registry import primitive
from qnn_ops.boxes import CORNERS
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.suppression import suppress_boxes


@primitive(suppress_boxes)
def _suppress_boxes(
    builder: relax.BlockBuilder, attrs: Attrs, boxes: relax.Expr, scores: relax.Expr
) -> relax.Expr:
    function = _function(attrs, spec_of(scores).shape[0])
    shape = (1 + attrs.most,)
    return call_loops(builder, "suppress_boxes", function, [boxes, scores], shape, "int32")


def _function(attrs: Attrs, count: int) -> tirx.PrimFunc:
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
