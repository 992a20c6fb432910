"""Reads the inputs of a model that a person names: pictures and arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from frontends.summary import Description
from qnn_ops.dialect.tensor_info import OpenSize, TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.cli.model_files import ending
from tvm_qnn.io.arrays import fitted, read_archive, read_array
from tvm_qnn.io.normalization import normalization_of
from tvm_qnn.io.preparation import Preparation


def read_inputs(
    texts: Sequence[str],
    infos: Sequence[TensorInfo],
    descriptions: Mapping[int, Description] | None = None,
    preparation: Preparation | None = None,
    say: Callable[[str], None] | None = None,
) -> dict[str, np.ndarray]:
    """Read the inputs of a model.

    Args:
        texts: for each input a file, in the model's order, or as name=file: a picture, which is
            scaled to the input's size and converted to its dtype, or a .npy file. One .npz file
            may hold all inputs by name.
        infos: the inputs.
        descriptions: the descriptions of inputs in the model's file, by their indices.
        preparation: the steps for pictures; by default they are scaled to the input's size.
        say: called with a text about the real values of pixels, unless they are the input's
            integers.

    Returns:
        The arrays by the inputs' names, each with its input's shape and dtype. float32 arrays for
        a quantized input are quantized; a missing first dimension of 1 is added.

    Raises:
        QnnError: if a file cannot be read, an input is missing, unknown or given twice, or an
            array does not fit.
    """
    by_name = {info.name: info for info in infos}
    described = {infos[place].name: each for place, each in (descriptions or {}).items()}
    arrays: dict[str, np.ndarray] = {}
    preparation = preparation or Preparation()

    def read(path: Path, info: TensorInfo) -> np.ndarray:
        if ending(path) == ".npy":
            return read_array(path)
        if not path.is_file():
            raise QnnError(f"there is no file {path}")
        normalization = normalization_of(info, described.get(info.name), preparation.normalization)
        pixels = preparation.read(path, info, normalization)
        if normalization is not None:
            normalization.tell(f"{path.name} for input {info.name!r}", say)
        return pixels

    for place, text in enumerate(texts):
        name, path = _named(text, by_name)
        if ending(path) == ".npz":
            found = read_archive(path)
        elif name is not None:
            found = {name: read(path, by_name[name])}
        elif place < len(infos):
            info = infos[place]
            found = {info.name: read(path, info)}
        else:
            raise QnnError(f"the model has {len(infos)} inputs, got {len(texts)} files")
        for key, array in found.items():
            if key not in by_name:
                raise QnnError(f"no input is named {key!r}; there are {', '.join(by_name)}")
            if key in arrays:
                raise QnnError(f"input {key!r} is given twice")
            arrays[key] = fitted(array, by_name[key])
    if missing := [name for name in by_name if name not in arrays]:
        raise QnnError(f"missing input {', '.join(map(repr, missing))}: give a file with --input")
    return arrays


def at_sizes(infos: Sequence[TensorInfo], shapes: Mapping[str, Sequence[Any]]) -> list[TensorInfo]:
    """Return inputs with a number for each open size: a given one, otherwise the least allowed.

    Args:
        infos: the inputs.
        shapes: shapes of inputs by name, or a number for the name of a size.

    Raises:
        QnnError: if a name is unknown, or a shape does not fit.
    """
    numbers = {name: shape[0] for name, shape in shapes.items() if len(shape) == 1}
    names = {size.name for info in infos for size in info.shape if isinstance(size, OpenSize)}
    known = {info.name: info for info in infos}
    for name, shape in shapes.items():
        if name in known and not known[name].takes(shape):
            raise QnnError(f"--shape: input {name!r} has shape {known[name].shape}, got {shape}")
        if name not in known and name not in names:
            raise QnnError(f"--shape: no input is named {name!r}; there are {', '.join(known)}")
        for size, number in zip(known[name].shape if name in known else (), shape, strict=False):
            if isinstance(size, OpenSize):
                numbers[size.name] = number

    def number_of(size: int) -> int:
        if not isinstance(size, OpenSize):
            return size
        found = size.value(numbers)
        return int(size) if found is None else found

    return [replace(info, shape=tuple(map(number_of, info.shape))) for info in infos]


def picture_among(
    texts: Sequence[str], infos: Sequence[TensorInfo]
) -> tuple[Path, TensorInfo] | None:
    """Return the file and the input of the only picture; None if there is not exactly one.

    Args:
        texts: as for ``read_inputs``.
        infos: the inputs.

    Raises:
        QnnError: if an input is unknown.
    """
    by_name = {info.name: info for info in infos}
    named = [_named(text, by_name) for text in texts]
    pictures = [
        (path, infos[place] if name is None else by_name[name])
        for place, (name, path) in enumerate(named)
        if ending(path) not in (".npy", ".npz")
    ]
    return pictures[0] if len(pictures) == 1 else None


def check_files(texts: Sequence[str]) -> None:
    """Check that the files of inputs, as ``read_inputs`` takes them, exist.

    Raises:
        QnnError: if one does not exist.
    """
    for text in texts:
        _, equals, path = text.partition("=")
        if not Path(text).is_file() and not (equals and Path(path).is_file()):
            raise QnnError(f"there is no file {path or text}")


def _named(text: str, infos: dict[str, TensorInfo]) -> tuple[str | None, Path]:
    """Return name and path; a text without an input's name before "=" is only a path."""
    name, equals, path = text.partition("=")
    if equals and not Path(text).exists():
        if name not in infos:
            raise QnnError(f"no input is named {name!r}; there are {', '.join(infos)}")
        return name, Path(path)
    return None, Path(text)
