"""Windows of convolutions and pools, with their padding in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frontends.errors import UnsupportedError


@dataclass(frozen=True)
class Window:
    """A window that slides over an image.

    Attributes:
        strides: along each axis.
        dilations: likewise.
        padding: before all axes, then after all.
        beyond: how much of the padding after each axis only the last window needs, whose place is
            rounded up.
    """

    strides: list[int]
    dilations: list[int]
    padding: list[int]
    beyond: list[int]

    def as_row(self) -> Window:
        """Return the window over a row as one over an image of that row."""
        before, after = self.padding
        row = [1, *self.strides], [1, *self.dilations], [0, before, 0, after]
        return Window(*row, [0, *self.beyond])


def window_of(attributes: Mapping[str, Any], image: Sequence[int], kernel: Sequence[int]) -> Window:
    """Read a window, whose padding a mode may state, or a size that is rounded up.

    Args:
        attributes: of the operator.
        image: sizes of the data's axes.
        kernel: taps along each.

    Raises:
        UnsupportedError: there is no such window.
    """
    rank = len(kernel)
    strides, dilations = (
        [int(each) for each in attributes.get(name, [1] * rank)]
        for name in ("strides", "dilations")
    )
    pads = [int(each) for each in attributes.get("pads", [0] * 2 * rank)]
    mode = attributes.get("auto_pad", b"NOTSET").decode()
    if mode not in ("NOTSET", "SAME_LOWER", "SAME_UPPER", "VALID"):
        raise UnsupportedError(f"auto_pad {mode!r} is not known")
    if not len(strides) == len(dilations) == rank == len(image) or len(pads) != 2 * rank:
        raise UnsupportedError("attributes of its window have different lengths")
    if mode.startswith("SAME") and max(dilations) > 1:
        raise UnsupportedError("ONNX Runtime takes no auto_pad with dilations")
    if min(*strides, *dilations) < 1 or min(pads) < 0:
        raise UnsupportedError("its padding must not be negative")
    sides, beyond = [], []
    for axis, size in enumerate(image):
        extent = (kernel[axis] - 1) * dilations[axis] + 1
        before, after = pads[axis], pads[axis + rank]
        if mode == "VALID":
            before = after = 0
        elif mode != "NOTSET":
            total = (-(-size // strides[axis]) - 1) * strides[axis] + extent - size
            if total < -1:  # there ONNX Runtime's operators contradict each other
                raise UnsupportedError(f"strides beyond its window need no auto_pad {mode}")
            total = max(total, 0)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            after = total - before
        stated = after
        if attributes.get("ceil_mode", 0):
            count = -(-(size + before + after - extent) // strides[axis]) + 1
            if (count - 1) * strides[axis] >= size + before:
                count -= 1  # it would begin behind the image
            after = max(after, (count - 1) * strides[axis] + extent - size - before)
        sides.append((before, after))
        beyond.append(after - stated)
    padding = [before for before, _ in sides] + [after for _, after in sides]
    return Window(strides, dilations, padding, beyond)
