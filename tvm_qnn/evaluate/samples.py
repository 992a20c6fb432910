"""The samples of a dataset, and the true answer of each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError

CLASSES, MASKS, BOXES, NOTHING = "classes", "masks", "boxes", "nothing"
"""The true answers in the data: a class of each sample, a mask, boxes, or nothing."""


@dataclass(frozen=True)
class Sample:
    """One picture, or one row of arrays.

    Attributes:
        path: the picture, or the archive.
        where: the file and line that errors about the sample name.
        row: the row in the archive; None for a picture.
        label: the class, if the data have classes.
        mask: the picture with the class of each pixel, if the data have masks.
        image: the image's number in the annotations, if the data have boxes.
    """

    path: Path
    where: str
    row: int | None = None
    label: int | None = None
    mask: Path | None = None
    image: int | None = None

    @property
    def name(self) -> str:
        """The sample's name in tables."""
        return str(self.path) if self.row is None else f"{self.path}[{self.row}]"

    @property
    def truth(self) -> int | str | None:
        """The true answer in tables: a class, a mask, or an image's number."""
        if self.mask is not None:
            return str(self.mask)
        return self.image if self.label is None else self.label

    def key(self) -> str:
        """Return a key that changes with the sample's paths, sizes, times and true answer.

        Raises:
            OSError: if a file is missing.
        """
        files = [path for path in (self.path, self.mask) if path is not None]
        stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        return json.dumps([stats, self.row, self.label, self.image])


@dataclass(frozen=True)
class Data:
    """A dataset that a model is evaluated on.

    Attributes:
        kind: one of CLASSES, MASKS, BOXES and NOTHING.
        samples: in their order.
        notes: sentences about decisions that were made, for a person.
        annotations: boxes in COCO's form, with the model's classes as categories.
    """

    kind: str
    samples: tuple[Sample, ...]
    notes: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Classes:
    """The classes of a model.

    Attributes:
        count: the number of classes; 0 if the model has none.
        names: their names, or none.
        offset: a number that is added to each class of the data.
    """

    count: int
    names: Sequence[str] = ()
    offset: int = 0

    def index(self, label: str | int, where: str) -> int:
        """Return the class with a label, which is its name or its number.

        Raises:
            QnnError: if no class has this label, or several have this name.
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
