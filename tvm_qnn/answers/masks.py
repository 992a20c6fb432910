"""The class of each pixel of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.answers.question import Question, Reading
from tvm_qnn.io.terminal import Terminal, figures_table

if TYPE_CHECKING:
    from tvm_qnn.answers.canvas import Canvas

_COLOURS = (3, 4)  # an output with 3 or 4 channels may be a picture
_BACKGROUND = ("background", "__background__", "bg", "unlabeled", "void")


@dataclass(frozen=True)
class Region:
    """All pixels of one class.

    Attributes:
        index: the class.
        label: the class's name; empty if it has none.
        share: its part of the picture.
    """

    index: int
    label: str
    share: float


@dataclass(frozen=True, eq=False)
class Mask:
    """The class of each pixel.

    Attributes:
        places: the classes [height, width], int64.
        regions: the classes with the most pixels, the largest first.
        count: how many classes are in the picture.
    """

    places: np.ndarray
    regions: list[Region]
    count: int

    def fields(self) -> dict[str, Any]:
        """Return the largest regions, and the size of the mask."""
        height, width = self.places.shape
        regions = [vars(region) for region in self.regions]
        return {"mask": {"height": height, "width": width, "regions": regions}}

    def show(self, console: Terminal, size: tuple[int, int] | None) -> None:
        """Print a table of shares."""
        del size
        named = any(region.label for region in self.regions)
        title = f"{len(self.regions)} of {self.count} classes"
        table = figures_table(["class", *["name"] * named], ["share"], title)
        for region in self.regions:
            table.add_row(str(region.index), *[region.label] * named, f"{100 * region.share:.1f} %")
        console.print(table)

    def draw(self, canvas: Canvas) -> None:
        """Lay the classes' colours over the picture, with a legend; the background gets none."""
        clear = {each.index for each in self.regions if _is_background(each)}
        canvas.overlay(self.places, clear)
        entries = [
            (each.index, f"{each.label or f'class {each.index}'} {100 * each.share:.1f} %")
            for each in self.regions
            if each.index not in clear
        ]
        canvas.legend(entries)


@dataclass(frozen=True)
class MaskReading:
    """Reads an output with a class, or with scores of classes, for each pixel.

    Attributes:
        labels: the names of classes, or none.
        top: how many regions to name.
        taken_for: the kind of the output, and the reason for it.
        is_map: whether it holds classes, and not scores.
    """

    outputs: tuple[TensorInfo, ...]
    labels: tuple[str, ...]
    top: int
    taken_for: str
    is_map: bool

    is_drawable: ClassVar[bool] = True

    def answer(self, arrays: Sequence[np.ndarray]) -> Mask:
        """Find the class of each pixel, the first one if scores are equal."""
        array = arrays[0]
        places = (array if self.is_map else array.argmax(-1)).astype(np.int64)
        places = places.reshape(array.shape[1:3])
        indices, counts = np.unique(places, return_counts=True)
        order = np.argsort(-counts, kind="stable")[: self.top].tolist()
        regions = [
            Region(int(indices[i]), self._label(int(indices[i])), int(counts[i]) / places.size)
            for i in order
        ]
        return Mask(places, regions, len(indices))

    def _label(self, index: int) -> str:
        return self.labels[index] if 0 <= index < len(self.labels) else ""


def _is_background(region: Region) -> bool:
    """Tell whether a class is the background: by its name or, without names, the first class."""
    return region.label.lower() in _BACKGROUND if region.label else region.index == 0


def find(question: Question) -> list[Reading]:
    """Return the outputs that are masks, for a model whose input is a picture."""
    size = question.picture_size
    if size is None:
        return []
    found: list[Reading] = []
    for info in question.signature.outputs:
        reason = _why(question, info, size)
        if reason:
            is_map = info.role == "map"
            labels = question.names(info, info.classes if is_map else info.shape[-1])
            found.append(MaskReading((info,), labels, question.top, reason, is_map))
    return found


def _why(question: Question, info: TensorInfo, size: tuple[int, int]) -> str:
    """Return an output's kind and the reason for it; empty unless it is certainly a mask."""
    shape = info.shape
    if info.role == "map":
        is_whole = shape[:1] == (1,) and 0 not in shape
        return "the class of each place of the picture: ARG_MAX made it" if is_whole else ""
    if len(shape) != 4 or shape[0] != 1 or shape[3] < 2 or 0 in shape:
        return ""
    what = f"the scores of {shape[3]} classes at each place of the picture"
    if info.role == "probabilities":
        return f"{what}: SOFTMAX made them"
    if question.count_of_names(info) == shape[3]:
        return f"{what}: as many are named"
    if shape[1:3] == size and shape[3] not in _COLOURS:
        return f"{what}, which has the size of the input"
    return ""
