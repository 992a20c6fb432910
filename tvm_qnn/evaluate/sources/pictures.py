"""Folders of pictures."""

from __future__ import annotations

from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import CLASSES, MASKS, NOTHING, Classes, Data, Sample

# Those of torchvision's ImageFolder.
ENDINGS = {".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"}
"""Of files that are pictures."""

_PICTURES, _MASKS = ("images", "pictures"), "masks"


def is_masked(path: Path) -> bool:
    """Tell whether a folder has pictures and masks."""
    return (path / _MASKS).is_dir() and any((path / name).is_dir() for name in _PICTURES)


def read_masked(path: Path, classes: Classes) -> Data:
    """Read a folder ``images`` or ``pictures`` beside a folder ``masks``, of equal names.

    Raises:
        QnnError: if a picture has no mask, or a mask no picture.
    """
    del classes
    folder = next(path / name for name in _PICTURES if (path / name).is_dir())
    pictures, masks = _by_stem(folder), _by_stem(path / _MASKS)
    for one, others, what in ((pictures, masks, "mask"), (masks, pictures, "picture")):
        if lonely := sorted(one.keys() - others.keys()):
            raise QnnError(f"{one[lonely[0]]} has no {what}")
    samples = (Sample(pictures[stem], str(pictures[stem]), mask=masks[stem]) for stem in pictures)
    return Data(MASKS, tuple(samples))


def read_folder(path: Path, classes: Classes) -> Data:
    """Read a folder of class folders, as torchvision's ImageFolder; or of pictures alone.

    Folders that are all named as the model's classes are these; others are the classes in the
    order of their names, if there are as many.

    Raises:
        QnnError: if there is another number of folders than classes, or one has no pictures.
    """
    folders = sorted(each for each in path.iterdir() if each.is_dir() and not _is_hidden(each))
    if not folders:
        found = _pictures(path)
        if not found:
            raise QnnError(f"{path} has neither pictures nor folders of pictures")
        return Data(NOTHING, tuple(Sample(each, str(each)) for each in found))
    labels, note = _labels([folder.name for folder in folders], classes, path)
    samples = []
    for folder, label in zip(folders, labels, strict=True):
        if not (found := _pictures(folder)):
            raise QnnError(f"the class folder {folder} has no pictures")
        samples += [Sample(each, str(each), label=label) for each in found]
    return Data(CLASSES, tuple(samples), (note,))


def _labels(folders: list[str], classes: Classes, path: Path) -> tuple[list[int], str]:
    names = list(classes.names)
    if all(names.count(folder) == 1 for folder in folders):
        return [names.index(folder) for folder in folders], "class folders are known by their names"
    offset = classes.offset
    if not offset and (len(folders), classes.count) == (1000, 1001):
        offset = 1  # ImageNet's, of which the model knows a background as well
    if len(folders) + offset != classes.count:
        counted = f"{len(folders)} class folders, but the model has {classes.count} classes"
        raise QnnError(f"{path} has {counted}: name these with --labels, as the folders are named")
    note = f"class folders are {offset} to {classes.count - 1} in the order of their names"
    return [*range(offset, classes.count)], note


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _pictures(folder: Path) -> list[Path]:
    """Return the pictures of a folder and of those within, in ImageFolder's order."""
    here = sorted(folder.iterdir())
    found = [path for path in here if path.is_file() and path.suffix.lower() in ENDINGS]
    for inner in here:
        if inner.is_dir() and not _is_hidden(inner):
            found += _pictures(inner)
    return found


def _by_stem(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in _pictures(folder):
        stem = str(path.relative_to(folder).with_suffix(""))
        if stem in found:
            raise QnnError(f"{found[stem]} and {path} differ in their endings alone")
        found[stem] = path
    if not found:
        raise QnnError(f"{folder} has no pictures")
    return found
