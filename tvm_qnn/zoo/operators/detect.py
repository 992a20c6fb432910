"""TFLite_Detection_PostProcess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.zoo.file import Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator

_MOST = 10


@dataclass(frozen=True, eq=False)
class Detect(Operator):
    """The best boxes of [1, count, 4] and their scores [1, count, classes, the first background].

    Adds boxes [1, 10, 4], their classes and scores [1, 10], and their number [1]. Nothing shall
    follow it: it has no values in a float run. Signed models give it float32, as their converter
    does.

    Attributes:
        anchors: float32 [count, 4]: centre y and x, height and width of the box at each place.
    """

    anchors: Array

    code = "CUSTOM:TFLite_Detection_PostProcess"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return those of the boxes, classes, scores and their number."""
        return [(1, _MOST, 4), (1, _MOST), (1, _MOST), (1,)]

    def dtype(self, *dtypes: str) -> str:
        """Return float32."""
        return "float32"

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Return zeros."""
        return [np.zeros(shape, np.float32) for shape in self.shapes()]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, with its anchors."""
        if file.style.dtype == "uint8":
            anchors = file.quantized_constant("anchors", self.anchors)
        else:
            inputs = [file.dequantized(x) for x in inputs]
            anchors = file.constant("anchors", self.anchors)
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
        return file.layer(self.code, [*(x.index for x in inputs), anchors], outputs, **options)
