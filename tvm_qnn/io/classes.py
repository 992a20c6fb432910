"""Turns the scores of a classifier into classes with names."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError

BACKGROUND = "background"
_BACKGROUNDS = (BACKGROUND, "__background__", "???", "unlabeled", "dummy")
_IMAGENET = 1001

_NO_SCORES = ("bool", "int32", "int64")


@dataclass(frozen=True)
class Guess:
    """One class of a classifier's answer.

    Attributes:
        index: its index among the model's outputs.
        score: the model's score as a real number.
        label: its name; empty if the classes have no names.
    """

    index: int
    score: float
    label: str


def read_labels(path: str | os.PathLike[str], classes: int) -> tuple[str, ...]:
    """Read the names of a model's classes from a text file, one a line.

    Raises:
        QnnError: if the file cannot be read, or ``fitted_labels`` refuses its number of
            lines.
    """
    return fitted_labels(read_lines(path), classes, os.fspath(path))


def read_lines(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Read the lines of a text file.

    Raises:
        QnnError: if it cannot be read.
    """
    try:
        return tuple(Path(path).read_text(encoding="utf-8").rstrip().splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise QnnError(f"cannot read the labels {os.fspath(path)}: {error}") from error


def fitted_labels(
    labels: tuple[str, ...], classes: int, where: str, *, add_background: bool = True
) -> tuple[str, ...]:
    """Return the names of a model's classes, with or without a name for the background.

    If there is one name too many and the first says background, it is removed, as for the labels of
    detectors. If a network for ImageNet has 1,001 classes and 1,000 names, a background is put in
    front. No other number of names fits: one missing line would shift every name.

    Args:
        labels: the names.
        classes: how many classes the model has.
        where: the source of the names, for the error.
        add_background: whether the model may have a background without a name.

    Raises:
        QnnError: if their number does not fit.
    """
    has_background = bool(labels) and labels[0].strip().casefold() in _BACKGROUNDS
    if len(labels) == classes + 1 and has_background:
        return labels[1:]
    if len(labels) + 1 == classes == _IMAGENET and add_background and not has_background:
        return (BACKGROUND, *labels)
    if len(labels) != classes:
        found = f"{where} names {len(labels)} classes, but the model has {classes}"
        if len(labels) + 1 == classes and add_background and not has_background:
            found += f"; if the first is the background, name it in a first line '{BACKGROUND}'"
        raise QnnError(found)
    return labels


def is_classifier(info: TensorInfo) -> bool:
    """Tell whether an output holds nothing but one score for each of several classes."""
    if info.dtype in _NO_SCORES:
        return False
    return math.prod(info.shape) == max(info.shape, default=1) > 1


def best_classes(
    scores: np.ndarray, info: TensorInfo, labels: Sequence[str] = (), count: int = 5
) -> list[Guess]:
    """Return the classes with the highest scores, best first, equal ones in their order.

    Args:
        scores: a classifier's output.
        info: the output's description; scores of a quantized one are turned into real numbers.
        labels: the name of each class, or none.
        count: how many classes to return.
    """
    reals = reals_of(scores, info).ravel()
    order = np.argsort(-reals, kind="stable")[:count]
    return [Guess(int(i), float(reals[i]), labels[i] if labels else "") for i in order]


def reals_of(array: np.ndarray, info: TensorInfo) -> np.ndarray:
    """Return the real values of a tensor, as float64."""
    reals: np.ndarray = array.astype(np.float64)
    if info.scale is not None and info.zero_point is not None:
        reals = (reals - info.zero_point) * info.scale
    return reals
