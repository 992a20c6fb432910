"""Samples without labels: what counts is whether outputs are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qnn_ops.tensor_info import TensorInfo
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Data, Sample
from tvm_qnn.evaluate.tasks.task import Array, Record, Task


@dataclass(frozen=True)
class Unlabelled(Task):
    """No figures of its own."""

    named = ()

    def on(self, outputs: Sequence[TensorInfo]) -> Unlabelled:
        """Return itself."""
        del outputs
        return self

    def record(self, feed: Feed, sample: Sample, outputs: Sequence[Array]) -> dict[str, Any]:
        """Keep nothing."""
        del feed, sample, outputs
        return {}

    def figures(self, data: Data, records: Sequence[Record]) -> dict[str, Any]:
        """Return none."""
        del data, records
        return {}

    def rows(self, figures: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return none."""
        del figures
        return []

    def agrees(self, ours: Record, theirs: Record) -> bool:
        """Say yes: neither says anything."""
        del ours, theirs
        return True

    def cells(self, sample: Sample, record: Record) -> dict[str, Any]:
        """Return none."""
        del sample, record
        return {}

    def fault(self, sample: Sample, record: Record) -> float:
        """Return 0: nobody knows."""
        del sample, record
        return 0.0

    def caption(self, sample: Sample, record: Record) -> str:
        """Say nothing."""
        del sample, record
        return ""
