"""Samples in numpy's archives."""

from __future__ import annotations

from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import CLASSES, NOTHING, Classes, Data, Sample
from tvm_qnn.io.arrays import read_archive

LABELS = ("labels", "label", "y")
"""The names that an array of labels may have."""


def read_npz(path: Path, classes: Classes) -> Data:
    """Read arrays whose rows are samples; one of LABELS has their labels, if there are any.

    Raises:
        QnnError: if arrays have other numbers of rows, or a label is none.
    """
    arrays = read_archive(path)
    found = [name for name in LABELS if name in arrays]
    if len(found) > 1:
        raise QnnError(f"{path} has labels by several names: {', '.join(found)}")
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(counts.values())) != 1 or not any(counts.values()) or len(arrays) == len(found):
        told = ", ".join(f"{name} {count}" for name, count in counts.items()) or "nothing"
        raise QnnError(f"{path}: its arrays need equally many rows, one or more: it has {told}")
    where = [f"{path}, row {row}" for row in range(next(iter(counts.values())))]
    if not found:
        return Data(NOTHING, tuple(Sample(path, each, row) for row, each in enumerate(where)))
    labels = arrays[found[0]]
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iuU":
        raise QnnError(
            f"{path}: {found[0]} needs an integer or a name for each row, got {labels.dtype} of "
            f"shape {labels.shape}"
        )
    indices = map(classes.index, labels.tolist(), where)
    samples = [
        Sample(path, each, row, index)
        for row, (each, index) in enumerate(zip(where, indices, strict=True))
    ]
    return Data(CLASSES, tuple(samples))
