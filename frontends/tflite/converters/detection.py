"""TFLite_Detection_PostProcess, NON_MAX_SUPPRESSION_V4 and NON_MAX_SUPPRESSION_V5."""

from typing import Any, cast

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.quantize import real
from frontends.tflite.operators import converter
from frontends.tflite.options.custom import DetectionPostProcessOptions
from qnn_ops import decode_boxes, select_boxes, suppress_boxes
from qnn_ops.dialect.expressions import take
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_CORNERS = 4
_MOST = 1 << 31  # elements of a result
_MOST_BOXES = 1 << 24  # of boxes that overlap no better one


@converter("CUSTOM:TFLite_Detection_PostProcess")
def convert_detection(ctx: Context) -> list[Any]:
    """Decode boxes, and choose the best.

    If there are too few, LiteRT leaves the rest of its memory unwritten; here it is zero.
    """
    options = cast(DetectionPostProcessOptions, ctx.options)
    encodings, predictions, anchors = (ctx.input(position) for position in range(3))
    _check_shapes(encodings, predictions, anchors, options.num_classes)
    if anchors.dtype != encodings.dtype:
        raise UnsupportedError(f"{encodings.dtype} boxes, {anchors.dtype} anchors")
    _check_anchors(ctx)
    rows = ctx.emit(reshaped(_real(ctx, encodings), encodings.shape[1:]))
    scales = (options.y_scale, options.x_scale, options.h_scale, options.w_scale)
    boxes = ctx.emit(decode_boxes(rows, _real(ctx, anchors), *scales))
    total = predictions.shape[2]
    scores = ctx.emit(reshaped(_real(ctx, predictions), predictions.shape[1:]))
    if total > options.num_classes:  # the first class is the background
        scores = ctx.emit(R.strided_slice(scores, [1], [1], [total]))
    most, per_box = options.max_detections, options.max_classes_per_detection
    if most * per_box * _CORNERS >= _MOST:
        raise QnnError(f"{most} boxes of {per_box} classes each are too many")
    found = ctx.emit(
        select_boxes(
            boxes,
            scores,
            by_class=options.use_regular_nms,
            most=most,
            most_of_class=min(options.detections_per_class, most),
            classes_per_box=per_box,
            score_threshold=options.nms_score_threshold,
            iou_threshold=options.nms_iou_threshold,
        )
    )
    return _results(ctx, boxes, scores, found, most * per_box)


def _results(
    ctx: Context, boxes: relax.Expr, scores: relax.Expr, found: relax.Expr, slots: int
) -> list[Any]:
    (size,), (count, classes) = spec_of(found).shape, spec_of(scores).shape
    both = ctx.builder.array(found)
    number, indices = both[:1], both[1:]
    if size - 1 < slots:
        indices = np.pad(indices, [(0, slots - size + 1)], constant_values=-1)
    is_used, rows, columns = indices >= 0, indices // classes, indices % classes
    chosen = R.take(boxes, rows.expr, axis=0, mode="clip")
    flat = ctx.builder.array(reshaped(scores, (count * classes,)))
    results = [
        np.where(is_used.reshape(slots, 1), both.to(chosen), np.float32(0)),
        np.where(is_used, columns.astype(np.float32), np.float32(0)),
        np.where(is_used, take(flat, indices), np.float32(0)),
    ]
    return [*(np.expand_dims(each, 0) for each in results), number.astype(np.float32)]


def _check_shapes(encodings: Operand, predictions: Operand, anchors: Operand, classes: int) -> None:
    shapes = encodings.shape, predictions.shape, anchors.shape
    fits = [len(shape) for shape in shapes] == [3, 3, 2] and encodings.shape[2] >= _CORNERS
    if fits:
        count, total = predictions.shape[1:]
        heads = [encodings.shape[:2], predictions.shape[:2], (1, anchors.shape[0])]
        fits = heads == [(1, count)] * 3 and anchors.shape[1] == _CORNERS
        fits = fits and count > 0 and 0 < classes <= total <= classes + 1
    if not fits:
        raise QnnError(
            "takes boxes [1, count, 4], scores [1, count, classes or one more] and anchors "
            f"[count, 4], got {shapes[0]}, {shapes[1]} and {shapes[2]} for {classes} classes"
        )


def _check_anchors(ctx: Context) -> None:
    """Raise if an anchor has a negative size: LiteRT ends the run if a box has one."""
    tensor = ctx.tensor(2)
    if not tensor.is_constant:
        return
    data = ctx.constant(2).astype(np.float64)
    if tensor.quantization is not None:
        data = data - tensor.quantization.zero_point[0]
    if (data[:, 2:] < 0).any():
        raise UnsupportedError(f"{tensor.label} has anchors of negative size")


def _real(ctx: Context, operand: Operand) -> relax.Expr:
    if operand.dtype == "float32":
        return operand.expr
    if operand.dtype != "uint8":
        raise UnsupportedError(f"{operand.dtype} {operand.label}")
    return ctx.emit(real(operand))


@converter("NON_MAX_SUPPRESSION_V5")
def convert_suppression_with_scores(ctx: Context) -> list[Any]:
    """Choose the boxes that no better box overlaps, and return their scores."""
    if ctx.number(5) != 0:
        raise UnsupportedError("soft suppression, by a sigma other than 0")
    indices, number = convert_suppression(ctx)
    is_used = np.arange(*indices.shape, dtype=np.int32) < number
    scores = np.where(is_used, take(ctx.array(1), indices), np.float32(0))
    return [indices.expr, scores, number.expr]  # others read them, too


@converter("NON_MAX_SUPPRESSION_V4")
def convert_suppression(ctx: Context) -> list[Any]:
    """Return the indices of the boxes that no better box overlaps, and their number."""
    boxes, scores, most = ctx.input(0), ctx.input(1), ctx.integer(2)
    if (boxes.dtype, scores.dtype) != ("float32", "float32"):
        raise UnsupportedError(f"{boxes.dtype} boxes, {scores.dtype} scores")
    if most > _MOST_BOXES:
        raise QnnError(f"{most} boxes are asked for, more than {_MOST_BOXES}")
    limits = {"iou_threshold": ctx.number(3), "score_threshold": ctx.number(4)}
    found = ctx.builder.array(suppress_boxes(boxes.expr, scores.expr, most=most, **limits))
    return [found[1:], found[:1].reshape()]
