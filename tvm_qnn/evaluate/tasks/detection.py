"""Measures how well boxes fit, as COCO counts it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from qnn_ops.errors import needed
from tvm_qnn.answers.detections import DetectionsReading
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Data, Sample
from tvm_qnn.evaluate.tasks.task import Record, Task

# The figures of pycocotools, in its order.
_NAMES = (
    *("map", "map_50", "map_75", "map_small", "map_medium", "map_large"),
    *("recall_1", "recall_10", "recall_100", "recall_small", "recall_medium", "recall_large"),
)


def check_pycocotools() -> None:
    """Check that pycocotools is installed.

    Raises:
        QnnError: if it cannot be imported.
    """
    with needed("computing COCO's figures", "pycocotools", "'tvm-qnn[evaluate]'"):
        import pycocotools.cocoeval  # noqa: F401


@dataclass(frozen=True)
class Detection(Task):
    """The evaluation of boxes. COCO's figures are for all classes together: there are no others.

    ``reading`` takes all detections, whatever their scores.
    """

    reading: DetectionsReading

    decides = "found"
    named = (("map", "mAP, IoU 0.50 to 0.95"), ("map_50", "mAP, IoU 0.50"))

    def record(self, feed: Feed, sample: Sample, outputs: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return the class, the score and the sides of each detection."""
        del feed, sample
        answer = self.reading.answer([outputs[place] for place in self.places])
        found = [(each.index, each.score, *each.box) for each in answer.found]
        return {"found": [list(each) for each in found if all(map(isfinite, each))]}

    def figures(self, data: Data, records: Sequence[Record]) -> dict[str, Any]:
        """Return COCO's twelve figures; a figure is None if there is nothing to count."""
        check_pycocotools()
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval

        with redirect_stdout(io.StringIO()):
            truth, found = COCO(), COCO()
            truth.dataset = {**data.annotations}
            found.dataset = {**data.annotations, "annotations": _boxes(data, records)}
            truth.createIndex()
            found.createIndex()
            judge = COCOeval(truth, found, "bbox")
            judge.evaluate()
            judge.accumulate()
            judge.summarize()
        pairs = zip(_NAMES, judge.stats.tolist(), strict=True)
        return {name: value if value >= 0 else None for name, value in pairs}

    def cells(self, sample: Sample, record: Record) -> dict[str, Any]:
        """Return how many objects were found."""
        del sample
        found = record["found"]
        return {"found": len(found), "score": found[0][1] if found else None}


def _boxes(data: Data, records: Sequence[Record]) -> list[dict[str, Any]]:
    sizes = {each["id"]: (each["width"], each["height"]) for each in data.annotations["images"]}
    boxes: list[dict[str, Any]] = []
    for sample, record in zip(data.samples, records, strict=True):
        assert sample.image is not None
        wide, high = sizes[sample.image]
        for index, score, left, top, right, bottom in record["found"]:
            width, height = (right - left) * wide, (bottom - top) * high
            boxes.append(
                {
                    "id": len(boxes) + 1,
                    "image_id": sample.image,
                    "category_id": index,
                    "bbox": [left * wide, top * high, width, height],
                    "area": width * height,
                    "score": score,
                    "iscrowd": 0,
                }
            )
    return boxes
