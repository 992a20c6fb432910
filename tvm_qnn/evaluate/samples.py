"""Data: samples, and what is true of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError

CLASSES, MASKS, BOXES, NOTHING = "classes", "masks", "boxes", "nothing"
"""What is true of the samples: a class of each, masks, boxes; or nothing is known."""


@dataclass(frozen=True)
class Sample:
    """One picture, or one row of arrays.

    Attributes:
        path: of the picture, or of the archive.
        where: what stands before an error of it: a file, with its line.
        row: in the archive; None for a picture.
        label: its class, where that is what is known.
        mask: the picture with the class of each place, likewise.
        image: its number in the annotations of boxes, likewise.
    """

    path: Path
    where: str
    row: int | None = None
    label: int | None = None
    mask: Path | None = None
    image: int | None = None

    @property
    def name(self) -> str:
        """How it is called in tables."""
        return str(self.path) if self.row is None else f"{self.path}[{self.row}]"

    @property
    def truth(self) -> int | str | None:
        """What is known of it, in tables: a class, a mask, or an image's number."""
        if self.mask is not None:
            return str(self.mask)
        return self.image if self.label is None else self.label

    def key(self) -> str:
        """Return what changes with the sample: paths, sizes, times of changes, and the truth.

        Raises:
            OSError: if a file is not there.
        """
        files = [path for path in (self.path, self.mask) if path is not None]
        stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        return json.dumps([stats, self.row, self.label, self.image])


@dataclass(frozen=True)
class Data:
    """What a model is evaluated on.

    Attributes:
        kind: one of CLASSES, MASKS, BOXES and NOTHING.
        samples: in their order.
        notes: what was decided, for a person to read.
        annotations: of boxes, as COCO has them, with the model's classes as categories.
    """

    kind: str
    samples: tuple[Sample, ...]
    notes: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Classes:
    """The classes of a model.

    Attributes:
        count: how many there are; 0 if it has none.
        names: of them, or none.
        offset: what is added to the numbers in the data.
    """

    count: int
    names: Sequence[str] = ()
    offset: int = 0

    def index(self, label: str | int, where: str) -> int:
        """Return the class that a label names, by its name or its number.

        Raises:
            QnnError: if there is none, or several have that name.
        """
        if isinstance(label, str):
            if found := [index for index, name in enumerate(self.names) if name == label]:
                if len(found) > 1:
                    raise QnnError(f"{where}: {len(found)} classes are named {label!r}")
                return found[0]
            try:
                number = int(label)
            except ValueError:
                known = "it is none of the model's" if self.names else "the model's have no names"
                hint = "; name them with --labels" if not self.names else ""
                raise QnnError(f"{where}: label {label!r} is no class: {known}{hint}") from None
        else:
            number = label
        if not 0 <= number + self.offset < self.count:
            least, most = -self.offset, self.count - 1 - self.offset
            raise QnnError(
                f"{where}: label {number} is out of range: the model has {self.count} classes, "
                f"{least} to {most}"
            )
        return number + self.offset
