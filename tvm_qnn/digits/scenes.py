"""Makes pictures with several digits, for a detector."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tvm_qnn.digits import INK, SIZE

EXTENT = 48
"""Height and width of a scene in pixels."""

_LEAST, _MOST = 10, 16  # height and width of a digit in it
_TRIES = 100  # attempts to find a free position


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture with digits.

    Attributes:
        pixels: [48, 48], uint8 from 0 (paper) to 255 (ink).
        boxes: the digits' boxes [N, 4]: top, left, bottom and right as parts of the picture.
        labels: the digits [N], int64.
    """

    pixels: npt.NDArray[np.uint8]
    boxes: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]


def scene(
    pictures: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    generator: np.random.Generator,
    count: int = 5,
) -> Scene:
    """Put digits of any size at any position on a page, without overlaps.

    Args:
        pictures: digits [N, 8, 8] from 0 (paper) to 16 (ink), to choose from.
        labels: the digits that they show [N].
        generator: draws the random numbers.
        count: how many digits to put there, if they have room.
    """
    page = generator.uniform(0, 24, (EXTENT, EXTENT))  # grainy paper
    boxes: list[tuple[int, int, int, int]] = []
    chosen: list[int] = []
    for _ in range(_TRIES):
        if len(boxes) == count:
            break
        size = int(generator.integers(_LEAST, _MOST, endpoint=True))
        top, left = generator.integers(0, EXTENT - size, 2, endpoint=True).tolist()
        box = (top, left, top + size, left + size)
        if any(_overlap(box, other) for other in boxes):
            continue
        number = int(generator.integers(len(labels)))
        ink = _resized(pictures[number] * (255 / INK), size)
        place = page[top : box[2], left : box[3]]
        page[top : box[2], left : box[3]] = np.maximum(place, ink)
        boxes.append(box)
        chosen.append(number)
    places = np.array(boxes, np.float64).reshape(-1, 4) / EXTENT
    return Scene(np.rint(page).astype(np.uint8), places, labels[chosen])


def _overlap(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return all(first[axis] < second[axis + 2] and second[axis] < first[axis + 2] for axis in (0, 1))


def _resized(picture: npt.NDArray[Any], size: int) -> npt.NDArray[np.float64]:
    """Scale a picture of 8×8, with bilinear interpolation between the centres of its pixels."""
    places = np.clip((np.arange(size) + 0.5) * SIZE / size - 0.5, 0, SIZE - 1)
    low = np.minimum(places.astype(int), SIZE - 2)
    weights = np.zeros((size, SIZE))
    weights[np.arange(size), low] = 1 - (places - low)
    weights[np.arange(size), low + 1] = places - low
    result: npt.NDArray[np.float64] = weights @ picture @ weights.T
    return result
