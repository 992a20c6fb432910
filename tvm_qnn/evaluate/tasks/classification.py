"""Counts how often a classifier is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.answers.classes import ClassesReading
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Data, Sample
from tvm_qnn.evaluate.tasks.task import Record, Task
from tvm_qnn.io.classes import best_classes, reals_of

_TOP = 5


@dataclass(frozen=True)
class Classification(Task):
    """The evaluation of a classifier."""

    reading: ClassesReading

    named = (("top1", "right (top-1)"), ("top5", "among the best five (top-5)"))

    def record(self, feed: Feed, sample: Sample, outputs: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return the best classes, the best score, and the score of the true class."""
        del feed
        scores, info = outputs[self.places[0]], self.reading.outputs[0]
        best = best_classes(scores, info, count=_TOP)
        truth = reals_of(scores, info).ravel()[sample.label].item()
        return {"top": [each.index for each in best], "score": best[0].score, "truth": truth}

    def figures(self, data: Data, records: Sequence[Record]) -> dict[str, Any]:
        """Return top-1 and top-5, classes, and the confusion matrix without its zeros."""
        pairs = [
            (int(sample.label or 0), record["top"])
            for sample, record in zip(data.samples, records, strict=True)
        ]
        confusion = Counter((truth, top[0]) for truth, top in pairs)
        counts = Counter(truth for truth, _ in pairs)
        predicted = Counter(top[0] for _, top in pairs)
        among = Counter(truth for truth, top in pairs if truth in top)
        right = sum(confusion[index, index] for index in counts)
        labels = self.reading.labels
        return {
            "top1": right / len(pairs),
            "top5": among.total() / len(pairs),
            "right": right,
            "right_among_five": among.total(),
            "classes": [
                {
                    "class": index,
                    "label": labels[index] if labels else "",
                    "samples": counts[index],
                    "predicted": predicted[index],
                    "right": confusion[index, index],
                    "right_among_five": among[index],
                    "recall": _part(confusion[index, index], counts[index]),
                    "precision": _part(confusion[index, index], predicted[index]),
                }
                for index in sorted(counts | predicted)
            ],
            "confusion": [[*pair, confusion[pair]] for pair in sorted(confusion)],
        }

    def agrees(self, ours: Record, theirs: Record) -> bool:
        """Tell whether the best class is the same."""
        return bool(ours["top"][0] == theirs["top"][0])

    def cells(self, sample: Sample, record: Record) -> dict[str, Any]:
        """Return the prediction."""
        return {
            "predicted": record["top"][0],
            "score": record["score"],
            "score_of_truth": record["truth"],
            "right": sample.label == record["top"][0],
            "among_five": sample.label in record["top"],
        }

    def fault(self, sample: Sample, record: Record) -> float:
        """Return how far the score of a wrong class is above the true class's."""
        if sample.label == record["top"][0] or None in (record["score"], record["truth"]):
            return 0.0
        # Not 0 for equal scores: the first class with the best score counts, and it is wrong.
        return float(record["score"] - record["truth"]) or 1e-9

    def caption(self, sample: Sample, record: Record) -> str:
        """Name the true class and the predicted one."""
        truth, found = self._name(sample.label or 0), self._name(record["top"][0])
        scores = f"score {record['truth']:.3g}", f"score {record['score']:.3g}"
        return f"{truth} ({scores[0]}), taken for {found} ({scores[1]})"

    def _name(self, index: int) -> str:
        labels = self.reading.labels
        return f"{index} {labels[index]}" if labels else str(index)


def _part(count: int, of: int) -> float | None:
    return count / of if of else None
