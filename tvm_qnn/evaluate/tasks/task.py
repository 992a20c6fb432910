"""The interface of all kinds of evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Data, Sample

Record = Mapping[str, Any]
"""The values that are kept of one sample; JSON can hold them."""


@dataclass(frozen=True)
class Task:
    """The evaluation of a model on data: no figures, if the data have no labels.

    Attributes:
        reading: how outputs are read.
        places: the indices of these outputs.
        named: the keys of the figures that are shown, and their titles.
        decides: the key of a record's value that is equal for equal answers; "" if any two agree.
    """

    reading: Any = None
    places: tuple[int, ...] = ()

    named: ClassVar[tuple[tuple[str, str], ...]] = ()
    decides: ClassVar[str] = ""

    def on(self, outputs: Sequence[TensorInfo]) -> Task:
        """Return the same task for another model, whose outputs have the same order."""
        infos = tuple(outputs[place] for place in self.places)
        return replace(self, reading=replace(self.reading, outputs=infos)) if infos else self

    def record(self, feed: Feed, sample: Sample, outputs: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return the record of a sample, from a model's outputs.

        Raises:
            QnnError: if the sample's true answer does not fit.
        """
        return {}

    def figures(self, data: Data, records: Sequence[Record]) -> dict[str, Any]:
        """Return figures that JSON can hold, from the samples' records in order."""
        return {}

    def rows(self, figures: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return a row for each class, with equal keys."""
        return list(figures.get("classes", ()))

    def agrees(self, ours: Record, theirs: Record) -> bool:
        """Tell whether two records give the same answer; also true if there is none."""
        return bool(ours.get(self.decides) == theirs.get(self.decides))

    def cells(self, sample: Sample, record: Record) -> dict[str, Any]:
        """Return the cells of a record in the table of samples."""
        return {}

    def fault(self, sample: Sample, record: Record) -> float:
        """Return how wrong a record is, for the list of the worst; 0: right, or unknown."""
        return 0.0

    def caption(self, sample: Sample, record: Record) -> str:
        """Say in one line what is wrong with a record."""
        return ""
