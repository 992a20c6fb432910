"""Measures how well masks fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.answers.masks import MaskReading
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Data, Sample
from tvm_qnn.evaluate.tasks.task import Record, Task

IGNORED = 255
"""The number of pixels in masks that do not count, as in PASCAL VOC."""


@dataclass(frozen=True)
class Segmentation(Task):
    """The evaluation of the class of each pixel.

    Attributes:
        count: the number of classes; 0 if it is unknown.
    """

    reading: MaskReading
    count: int = 0

    decides = "pairs"
    named = (("mean_iou", "mean IoU"), ("accuracy", "places that are right"))

    def record(self, feed: Feed, sample: Sample, outputs: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return how many pixels have each pair of a true and a predicted class."""
        found = self.reading.answer([outputs[self.places[0]]]).places
        height, width = found.shape
        truth = feed.truth(sample, height, width)
        counted = truth != IGNORED
        pairs, counts = np.unique(
            np.stack([truth[counted], found[counted]]), axis=1, return_counts=True
        )
        known = pairs[0]
        if self.count and known.size and not 0 <= known.min() <= known.max() < self.count:
            worst = int(known.max() if known.max() >= self.count else known.min())
            raise QnnError(
                f"{sample.mask}: class {worst} is out of range: the model has {self.count} "
                f"classes, 0 to {self.count - 1}; {IGNORED} is for what does not count"
            )
        return {"pairs": np.vstack([pairs, counts]).T.tolist()}

    def figures(self, data: Data, records: Sequence[Record]) -> dict[str, Any]:
        """Return the mean IoU, the IoU of each class, and the confusion matrix."""
        del data
        confusion: Counter[tuple[int, int]] = Counter()
        for record in records:
            for truth, found, count in record["pairs"]:
                confusion[truth, found] += count
        true: Counter[int] = Counter()
        predicted: Counter[int] = Counter()
        for (truth, found), count in confusion.items():
            true[truth] += count
            predicted[found] += count
        rows: list[dict[str, Any]] = []
        for index in sorted(true | predicted):
            right = confusion[index, index]
            union = true[index] + predicted[index] - right
            label = self.reading.labels[index] if index < len(self.reading.labels) else ""
            rows.append(
                {
                    "class": index,
                    "label": label,
                    "places": true[index],
                    "predicted": predicted[index],
                    "right": right,
                    "iou": right / union,
                }
            )
        places = true.total()
        right = sum(row["right"] for row in rows)
        return {
            "mean_iou": sum(row["iou"] for row in rows) / len(rows) if rows else None,
            "accuracy": right / places if places else None,
            "places": places,
            "classes": rows,
            "confusion": [[*pair, confusion[pair]] for pair in sorted(confusion)],
        }

    def cells(self, sample: Sample, record: Record) -> dict[str, Any]:
        """Return how many pixels are right."""
        del sample
        pairs = record["pairs"]
        right = sum(count for truth, found, count in pairs if truth == found)
        places = sum(count for *_, count in pairs)
        return {"places": places, "right": right}

    def fault(self, sample: Sample, record: Record) -> float:
        """Return the share of pixels that are wrong."""
        cells = self.cells(sample, record)
        return 1 - cells["right"] / cells["places"] if cells["places"] else 0.0

    def caption(self, sample: Sample, record: Record) -> str:
        """Say how many pixels are wrong."""
        return f"{self.fault(sample, record):.1%} of the places are wrong"
