"""Folders of pictures."""

from pathlib import Path

import numpy as np
from PIL import Image

from tvm_qnn import digits

SETTINGS = "mean = 0\nstd = 255\n"
"""What a TOML file says of these digits: ink is white."""


def write_digits(folder: Path, count: int) -> list[Path]:
    """Write the first of the held-out digits in class folders; return them in their order."""
    pictures, labels = digits.held_out()
    paths = []
    for place in range(count):
        paths.append(folder / str(labels[place]) / f"{place:03}.png")
        write_picture(paths[-1], np.rint(pictures[place] * (255 / digits.INK)))
    return paths


def write_picture(path: Path, pixels: object) -> None:
    """Write a picture, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.array(pixels).astype(np.uint8)).save(path)
