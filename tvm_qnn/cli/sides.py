"""The two sides of a comparison of outputs, as a command's arguments name them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from frontends.formats import Source
from frontends.summary import Description
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.build import build
from tvm_qnn.cli.arguments import read_inputs
from tvm_qnn.cli.model_files import LIBRARY, ending
from tvm_qnn.compare import Archive, Here, Program
from tvm_qnn.evaluate.peers import described, peer_of
from tvm_qnn.evaluate.sources import ENDINGS
from tvm_qnn.io.arrays import read_archive
from tvm_qnn.io.images import noise
from tvm_qnn.library.arrays import input_arrays, reals
from tvm_qnn.library.library import Library, load

Upload = Callable[[Library], Any]

_ARRAYS = (".npy", ".npz")


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        program: the program that runs.
        inputs: the inputs that it takes; empty for stored outputs.
        descriptions: the descriptions of inputs in its file, by their indices.
        title: its name in sentences.
    """

    program: Program
    inputs: Sequence[TensorInfo]
    descriptions: Mapping[int, Description]
    title: str


@dataclass(frozen=True)
class _Session:
    """A framework's session; its outputs have the descriptions of the model's file."""

    session: Program
    outputs: Sequence[TensorInfo]

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return self.session.run(inputs)


def side_here(
    path: Path,
    source: Source | None,
    shapes: Mapping[str, Sequence[int]],
    target: Any,
    kernels: bool,
    upload: Upload | None = None,
) -> Side:
    """Return our side of a comparison.

    Args:
        path: a library or a model.
        source: the model; None for a library.
        shapes: shapes of inputs, in place of the file's.
        target: the target for which a model is compiled.
        kernels: whether to use kernels.
        upload: loads a library onto the device where it shall run.
    """
    if source is None:
        library, descriptions = load(path), {}
    else:
        imported = source.convert(shapes)
        library = build(imported.mod, target, imported.params, kernels=kernels)
        descriptions = dict(source.descriptions().inputs)
    placed = library if upload is None else upload(library)
    return Side(Here(placed), library.inputs, descriptions, path.name)


def side_of_framework(path: Path, *, is_other: bool) -> Side | None:
    """Return a model on its own framework; None if that cannot be run.

    Args:
        path: the model.
        is_other: whether it is a second model, and not the one that tvm-qnn runs.
    """
    peer = peer_of(path, is_other=is_other)
    if peer is None:
        return None
    session = peer.start()
    inputs, outputs, descriptions = described(path, session)
    return Side(_Session(session, outputs), inputs, descriptions, peer.title)


def other_side(path: Path) -> Side:
    """Return the other side of a comparison: an archive of outputs, a library, or another model.

    Raises:
        QnnError: if the file is none of these.
    """
    if ending(path) == ".npz":
        return Side(Archive(read_archive(path)), (), {}, path.name)
    if path.suffix == LIBRARY:
        return side_here(path, None, {}, None, True)
    from frontends.formats import read_model

    found = side_of_framework(path, is_other=True)
    return found or side_here(path, read_model(path), {}, "host", True)


def turns(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the files of each run: a single run, or one for each file of a folder.

    Raises:
        QnnError: if a folder has no pictures or arrays.
    """
    if len(texts) != 1:
        return [tuple(texts)]
    name, equals, rest = texts[0].partition("=")
    prefix, folder = (name + equals, Path(rest)) if equals else ("", Path(texts[0]))
    if not folder.is_dir():
        return [tuple(texts)]
    known = (*_ARRAYS, *ENDINGS)
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.suffix.lower() in known
    )
    if not files:
        raise QnnError(f"{folder} has neither pictures nor arrays")
    return [(f"{prefix}{path}",) for path in files]


def runs_of(
    files: Sequence[Sequence[str]], ours: Side, theirs: Side
) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Yield the inputs of both sides, run by run; noise if there are no files.

    If both sides take the same inputs, both get the same arrays. Otherwise each side reads the
    files itself, and noise stands for the same real numbers on both sides.

    Raises:
        QnnError: if the inputs do not fit.
    """
    for texts in files:
        if texts:
            given = list(_read(texts, ours))
            yield given, given if _is_alike(ours, theirs) else list(_read(texts, theirs))
        else:
            given = [noise(info) for info in ours.inputs]
            yield given, given if _is_alike(ours, theirs) else _converted(given, ours, theirs)


def _read(texts: Sequence[str], side: Side) -> Iterator[np.ndarray]:
    arrays = read_inputs(texts, side.inputs, side.descriptions)
    return (arrays[info.name] for info in side.inputs)


def _converted(given: Sequence[np.ndarray], ours: Side, theirs: Side) -> list[np.ndarray]:
    """Return the same real numbers in the encoding of the other side's inputs."""
    pairs = zip(ours.inputs, given, strict=True)
    return input_arrays(
        theirs.inputs, [reals(info, each) for info, each in pairs], {}, quantize=True
    )


def _is_alike(ours: Side, theirs: Side) -> bool:
    """Tell whether both sides take the same arrays; a side without inputs takes any."""
    one, other = (
        [replace(info, name="", role="", classes=0, low=None, high=None) for info in side.inputs]
        for side in (ours, theirs)
    )
    return not other or one == other
