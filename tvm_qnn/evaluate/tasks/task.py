"""What every kind of evaluation is able to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from qnn_ops.tensor_info import TensorInfo
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Data, Sample

Array = np.ndarray[Any, Any]
Record = Mapping[str, Any]
"""What is kept of one sample, as JSON can hold it."""


class Task(Protocol):
    """Figures of a model on data."""

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """The keys of the figures that are shown, and their titles."""

    def on(self, outputs: Sequence[TensorInfo]) -> Task:
        """Return the same of another model, which has these outputs in the same places."""

    def record(self, feed: Feed, sample: Sample, outputs: Sequence[Array]) -> dict[str, Any]:
        """Return what counts of a model's outputs for a sample.

        Raises:
            QnnError: if what is known of the sample does not fit.
        """

    def figures(self, data: Data, records: Sequence[Record]) -> dict[str, Any]:
        """Return figures, as JSON can hold them; of a record for each sample, in their order."""

    def rows(self, figures: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return a row for each class, with equal keys."""

    def agrees(self, ours: Record, theirs: Record) -> bool:
        """Tell whether two records say the same."""

    def cells(self, sample: Sample, record: Record) -> dict[str, Any]:
        """Return what a table of samples has of a record."""

    def fault(self, sample: Sample, record: Record) -> float:
        """Return how wrong a record is, for a list of the worst; 0: not at all."""

    def caption(self, sample: Sample, record: Record) -> str:
        """Say in a line what is wrong with it."""
