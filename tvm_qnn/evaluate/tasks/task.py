"""What every kind of evaluation is able to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Data, Sample

Array = np.ndarray[Any, Any]
Record = Mapping[str, Any]
"""What is kept of one sample, as JSON can hold it."""


class Task:
    """Figures of a model on data: none, if the data have no labels.

    Attributes:
        named: the keys of the figures that are shown, and their titles.
    """

    named: tuple[tuple[str, str], ...] = ()

    def on(self, outputs: Sequence[TensorInfo]) -> Task:
        """Return the same of another model, which has these outputs in the same places."""
        return self

    def record(self, feed: Feed, sample: Sample, outputs: Sequence[Array]) -> dict[str, Any]:
        """Return what counts of a model's outputs for a sample.

        Raises:
            QnnError: if what is known of the sample does not fit.
        """
        return {}

    def figures(self, data: Data, records: Sequence[Record]) -> dict[str, Any]:
        """Return figures, as JSON can hold them; of a record for each sample, in their order."""
        return {}

    def rows(self, figures: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return a row for each class, with equal keys."""
        return []

    def agrees(self, ours: Record, theirs: Record) -> bool:
        """Tell whether two records say the same, or nothing."""
        return True

    def cells(self, sample: Sample, record: Record) -> dict[str, Any]:
        """Return what a table of samples has of a record."""
        return {}

    def fault(self, sample: Sample, record: Record) -> float:
        """Return how wrong a record is, for a list of the worst; 0: not at all, or not known."""
        return 0.0

    def caption(self, sample: Sample, record: Record) -> str:
        """Say in a line what is wrong with it."""
        return ""


@dataclass(frozen=True)
class Unlabelled(Task):
    """Samples without labels: what counts is whether outputs are equal."""
