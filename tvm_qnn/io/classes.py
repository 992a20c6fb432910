"""The scores of a classifier as classes with names."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from qnn_ops.tensor_info import TensorInfo

BACKGROUND = "background"

_NO_SCORES = ("bool", "int32", "int64")


@dataclass(frozen=True)
class Guess:
    """One class of a classifier's answer.

    Attributes:
        index: of the class among the model's outputs.
        score: what the model gives it, as a real number.
        label: its name; empty if the classes have no names.
    """

    index: int
    score: float
    label: str


def read_labels(path: str | os.PathLike[str], classes: int) -> tuple[str, ...]:
    """Read the names of a model's classes from a text file, one a line.

    Raises:
        QnnError: if the file cannot be read or has not the right number of lines, as
            ``fitted_labels`` says.
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
    """Return the names of a model's classes, without or with one for the background.

    Networks for ImageNet have 1,000 classes, or 1,001 with a first one for the background; so
    have the files that name them, and not always the same: a background is put in front or taken
    away if that makes the names fit.

    Args:
        labels: the names.
        classes: how many the model has.
        where: what the names are from, for the error.
        add_background: whether the model may have a background that the names leave out.

    Raises:
        QnnError: if there is another number of them.
    """
    if len(labels) == classes + 1:
        return labels[1:]
    if len(labels) == classes - 1 and add_background:
        return (BACKGROUND, *labels)
    if len(labels) != classes:
        raise QnnError(f"{where} names {len(labels)} classes, but the model has {classes}")
    return labels


def is_classifier(info: TensorInfo) -> bool:
    """Tell whether an output holds one score for each of several classes, and nothing else."""
    if info.dtype in _NO_SCORES:
        return False
    return math.prod(info.shape) == max(info.shape, default=1) > 1


def best_classes(
    scores: np.ndarray[Any, Any], info: TensorInfo, labels: Sequence[str] = (), count: int = 5
) -> list[Guess]:
    """Return the classes with the highest scores, best first; equals in their order.

    Args:
        scores: a classifier's output.
        info: what the output is; scores of a quantized one are turned into reals.
        labels: the name of each class, or none.
        count: how many classes to give.
    """
    reals = reals_of(scores, info).ravel()
    order = np.argsort(-reals, kind="stable")[:count]
    return [Guess(int(i), float(reals[i]), labels[i] if labels else "") for i in order]


def reals_of(array: np.ndarray[Any, Any], info: TensorInfo) -> np.ndarray[Any, Any]:
    """Return what a tensor's values stand for, as float64."""
    reals: np.ndarray[Any, Any] = array.astype(np.float64)
    if info.scale is not None and info.zero_point is not None:
        reals = (reals - info.zero_point) * info.scale
    return reals
