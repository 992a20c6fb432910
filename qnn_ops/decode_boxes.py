"""Boxes that a detector states relative to its anchors, as corners."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.attributes import float_attr
from qnn_ops.checks import check_dtype, check_rank
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

CORNERS = 4
"""Numbers of a box: the lowest y and x, the highest y and x."""


@operator(
    "encodings",
    "anchors",
    traits=FIXED,
)
def decode_boxes(
    encodings: relax.Expr,
    anchors: relax.Expr,
    y_scale: float,
    x_scale: float,
    h_scale: float,
    w_scale: float,
) -> relax.Call:
    """Turn boxes that are stated relative to anchors into corners.

    Source of the arithmetic: DecodeCenterSizeBoxes of TFLite's kernels/detection_postprocess.cc:
    centres and half sizes in float64, each rounded to float32, then sums and differences of these.

    Args:
        encodings: float32, [boxes, 4 or more]: y, x, height and width of each; what comes behind
            them is not read.
        anchors: float32, [boxes, 4]: likewise.
        y_scale: the number that divides y.
        x_scale: likewise.
        h_scale: the number that divides the logarithm of the height.
        w_scale: likewise.

    Returns:
        A call whose result is float32, [boxes, 4]: the lowest y and x, the highest y and x.

    Raises:
        QnnError: if a dtype, a shape or a scale does not fit.
    """
    scales = {"y_scale": y_scale, "x_scale": x_scale, "h_scale": h_scale, "w_scale": w_scale}
    attrs = {name: float_attr(name, value) for name, value in scales.items()}
    return decode_boxes.call([encodings, anchors], **attrs)


@decode_boxes.type_rule
def _type(attrs: Attrs, encodings: TensorSpec, anchors: TensorSpec) -> TensorSpec:
    for name, spec in (("encodings", encodings), ("anchors", anchors)):
        check_dtype(name, spec.dtype, ("float32",))
        check_rank(name, spec, 2)
    boxes, size = encodings.shape
    if size < CORNERS:
        raise QnnError(f"encodings must have at least 4 numbers a box, got shape {encodings.shape}")
    if anchors.shape != (boxes, CORNERS):
        raise QnnError(f"anchors must have shape {(boxes, CORNERS)}, got {anchors.shape}")
    for name in ("y_scale", "x_scale", "h_scale", "w_scale"):
        value = getattr(attrs, name)
        if not math.isfinite(value) or value == 0:
            raise QnnError(f"{name} must be a number other than 0, got {value}")
    return TensorSpec((boxes, CORNERS), "float32")


decode_boxes.overflow_rule(cannot_overflow)


@decode_boxes.reference
def _reference(attrs: Attrs, encodings: Array, anchors: Array) -> Array:
    wide = encodings[:, :CORNERS].astype(np.float64)
    places, sizes = anchors[:, :2].astype(np.float64), anchors[:, 2:].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        centres = wide[:, :2] / np.array([attrs.y_scale, attrs.x_scale]) * sizes + places
        halves = 0.5 * np.exp(wide[:, 2:] / np.array([attrs.h_scale, attrs.w_scale])) * sizes
        centre, half = centres.astype(np.float32), halves.astype(np.float32)
        return np.concatenate([centre - half, centre + half], axis=1)
