"""TFLite_Detection_PostProcess."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, File, Tensor
from tvm_qnn.zoo.graph import Operator, Tensors, Types

_MOST = 10
_SHAPES = ((1, _MOST, 4), (1, _MOST), (1, _MOST), (1,))


def Detect(anchors: Array) -> Operator:
    """Return the best of boxes [1, count, 4] by scores [1, count, classes, the first background].

    It adds boxes [1, 10, 4], their classes and scores [1, 10], and their number [1]. Nothing shall
    follow it: it has no values in a float run. Signed models give it float32, as their converter
    does.

    Args:
        anchors: float32 [count, 4]: centre y and x, height and width of each box before shifts.
    """

    def write(file: File, inputs: Tensors, outputs: Types) -> list[Tensor]:
        if file.style.dtype == "uint8":
            stored = file.quantized_constant("anchors", anchors)
        else:
            inputs = [file.dequantized(x) for x in inputs]
            stored = file.constant("anchors", anchors)
        operands = [*(x.index for x in inputs), stored]
        options: dict[str, Any] = {
            "max_detections": _MOST,
            "max_classes_per_detection": 1,
            "detections_per_class": 100,
            "use_regular_nms": False,
            "nms_score_threshold": 1e-8,
            "nms_iou_threshold": 0.6,
            "num_classes": inputs[1].shape[2] - 1,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
        }
        return file.layer("CUSTOM:TFLite_Detection_PostProcess", operands, outputs, **options)

    zeros = [np.zeros(shape, np.float32) for shape in _SHAPES]
    return Operator(lambda _, *arrays: zeros, write, "float32")
