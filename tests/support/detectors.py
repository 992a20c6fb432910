"""A detector whose results are encoded in its picture's first pixels."""

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter

SIZE = 8
ANCHORS = np.array([[0.25, 0.25, 0.5, 0.5], [0.75, 0.5, 0.25, 0.5]], np.float32)  # y, x, h, w
CLASSES = 3


def detector(metadata: bytes = b"") -> bytes:
    """Return a model of a picture [1, 8, 8, 3], of which it looks at the top left pixels.

    The red, green and blue of the first one are the scores of three classes for the first anchor,
    those of its right neighbour for the second one, in steps of 1/256.
    """
    writer = ModelWriter()
    pixels = Quantization.per_tensor(1 / 256, 0)
    x = writer.tensor("x", (1, SIZE, SIZE, 3), "uint8", pixels)

    def integers(name: str, *values: int) -> int:
        return writer.tensor(name, (len(values),), "int32", data=np.array(values, np.int32))

    corner = writer.tensor("corner", (1, 1, 2, 3), "uint8", pixels)
    writer.operator(
        "SLICE", [x, integers("begin", 0, 0, 0, 0), integers("size", 1, 1, 2, 3)], [corner]
    )
    scores = writer.tensor("raw", (1, 2, 3), "uint8", pixels)
    writer.operator("RESHAPE", [corner, integers("shape", 1, 2, 3)], [scores], new_shape=[1, 2, 3])
    real = writer.tensor("real", (1, 2, 3), "float32")
    writer.operator("DEQUANTIZE", [scores], [real])
    offsets = writer.tensor("offsets", (1, 2, 4), "float32", data=np.zeros((1, 2, 4), np.float32))
    anchors = writer.tensor("anchors", ANCHORS.shape, "float32", data=ANCHORS)
    shapes = {"boxes": (1, 2, 4), "kinds": (1, 2), "scores": (1, 2), "number": (1,)}
    results = [writer.tensor(name, shape, "float32") for name, shape in shapes.items()]
    writer.operator(
        "CUSTOM:TFLite_Detection_PostProcess",
        [offsets, real, anchors],
        results,
        max_detections=2,
        max_classes_per_detection=1,
        nms_score_threshold=1e-8,
        nms_iou_threshold=0.5,
        num_classes=CLASSES,
        y_scale=10.0,
        x_scale=10.0,
        h_scale=5.0,
        w_scale=5.0,
    )
    return writer.finish([x], results, metadata=metadata)
