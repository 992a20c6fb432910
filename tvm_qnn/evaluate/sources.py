"""Reads datasets: folders of pictures, tables, archives of numpy, and COCO's annotations."""

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import BOXES, CLASSES, MASKS, NOTHING, Classes, Data, Sample
from tvm_qnn.io.arrays import read_archive

LABELS = ("labels", "label", "y")
"""The names that an archive's array of labels may have."""


def read_npz(path: Path, classes: Classes) -> Data:
    """Read arrays whose rows are samples; the array named in LABELS, if any, has their labels.

    Raises:
        QnnError: if the arrays have different numbers of rows, or a label is not a class.
    """
    arrays = read_archive(path)
    found = [name for name in LABELS if name in arrays]
    if len(found) > 1:
        raise QnnError(f"{path} has labels by several names: {', '.join(found)}")
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(counts.values())) != 1 or not any(counts.values()) or len(arrays) == len(found):
        told = ", ".join(f"{name} {count}" for name, count in counts.items()) or "nothing"
        raise QnnError(f"{path}: its arrays need equally many rows, one or more: it has {told}")
    where = [f"{path}, row {row}" for row in range(next(iter(counts.values())))]
    if not found:
        return Data(NOTHING, tuple(Sample(path, each, row) for row, each in enumerate(where)))
    labels = arrays[found[0]]
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iuU":
        raise QnnError(
            f"{path}: {found[0]} needs an integer or a name for each row, got {labels.dtype} of "
            f"shape {labels.shape}"
        )
    indices = map(classes.index, labels.tolist(), where)
    samples = [
        Sample(path, each, row, index)
        for row, (each, index) in enumerate(zip(where, indices, strict=True))
    ]
    return Data(CLASSES, tuple(samples))


def read_coco(path: Path, classes: Classes) -> Data:
    """Read annotations; the pictures lie beside the file, or in a folder ``images`` there.

    If every category has the name of a class, it is this class. Otherwise categories are the
    classes in the order of their numbers, if there are as many; if not, category 1 is class 0.

    Raises:
        QnnError: if something in the file is wrong.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise QnnError(f"{path} is no JSON: {error}") from error
    images, categories, boxes = (
        _list(content, name, path) for name in ("images", "categories", "annotations")
    )
    folder = path.parent / "images" if (path.parent / "images").is_dir() else path.parent
    by_id: dict[int, dict[str, Any]] = {}
    samples = []
    for place, image in enumerate(images):
        where = f"{path}: images[{place}]"
        number = _field(image, "id", int, where)
        picture = folder / _field(image, "file_name", str, where)
        _positive(image, ("width", "height"), where)
        if number in by_id:
            raise QnnError(f"{where} has the number of another: {number}")
        if not picture.is_file():
            raise QnnError(f"{where}: there is no file {picture}")
        by_id[number] = image
        samples.append(Sample(picture, where, image=number))
    if not samples:
        raise QnnError(f"{path} has no images")
    indices, note = _classes(categories, classes, path)
    truths = []
    for place, box in enumerate(boxes):
        where = f"{path}: annotations[{place}]"
        image, category = (_field(box, name, int, where) for name in ("image_id", "category_id"))
        if image not in by_id:
            raise QnnError(f"{where}: there is no image {image}")
        if category not in indices:
            raise QnnError(f"{where}: there is no category {category}")
        truths.append(_truth(box, place + 1, image, indices[category], where))
    annotations = {
        "images": [{name: each[name] for name in ("id", "width", "height")} for each in images],
        "categories": [{"id": index} for index in sorted(set(indices.values()))],
        "annotations": truths,
    }
    return Data(BOXES, tuple(samples), (note,), annotations)


def _truth(box: Any, number: int, image: int, index: int, where: str) -> dict[str, Any]:
    sides = _field(box, "bbox", list, where)
    if len(sides) != 4 or not all(_is_number(side) for side in sides):
        raise QnnError(f"{where}: bbox needs left, top, width and height, got {sides}")
    area = box.get("area")
    return {
        "id": number,
        "image_id": image,
        "category_id": index,
        "bbox": sides,
        "area": area if _is_number(area) else sides[2] * sides[3],
        "iscrowd": 1 if box.get("iscrowd") else 0,
    }


def _classes(categories: list[Any], classes: Classes, path: Path) -> tuple[dict[int, int], str]:
    """Return the model's class of each category, and a sentence on how it was found."""
    names = list(classes.names)
    ids: dict[int, str] = {}
    for place, category in enumerate(categories):
        where = f"{path}: categories[{place}]"
        ids[_field(category, "id", int, where)] = _field(category, "name", str, where)
    if ids and all(names.count(name) == 1 for name in ids.values()):
        return {each: names.index(name) for each, name in ids.items()}, "categories by their names"
    if len(ids) == classes.count:
        order = {each: index for index, each in enumerate(sorted(ids))}
        return order, "categories are the model's classes in the order of their numbers"
    if not ids or min(ids) < 1 or (classes.count and max(ids) > classes.count):
        counted = f"{len(ids)} categories, but the model has {classes.count} classes"
        raise QnnError(f"{path} has {counted}: name these with --labels, as the categories are")
    return {each: each - 1 for each in ids}, "the category 1 is the model's class 0"


def _list(content: Any, name: str, path: Path) -> list[Any]:
    found = content.get(name) if isinstance(content, dict) else None
    if not isinstance(found, list):
        raise QnnError(f"{path} has no list of {name}, which COCO's annotations have")
    return found


def _field(fields: Any, name: str, kind: type, where: str) -> Any:
    value = fields.get(name) if isinstance(fields, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise QnnError(f"{where}: {name} needs to be {kind.__name__}, got {value!r}")
    return value


def _positive(fields: Any, names: tuple[str, ...], where: str) -> None:
    for name in names:
        if _field(fields, name, int, where) < 1:
            raise QnnError(f"{where}: {name} needs to be 1 or more, got {fields[name]}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


# As torchvision's ImageFolder has them.
ENDINGS = {".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"}
"""The endings of pictures' files."""

_PICTURES, _MASKS = ("images", "pictures"), "masks"


def is_masked(path: Path) -> bool:
    """Tell whether a folder has pictures and masks."""
    return (path / _MASKS).is_dir() and any((path / name).is_dir() for name in _PICTURES)


def read_masked(path: Path, classes: Classes) -> Data:
    """Read a folder ``images`` or ``pictures``, and masks of the same names in ``masks``.

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
    """Read a folder of class folders, as torchvision's ImageFolder does, or of pictures alone.

    If every folder has the name of a class, it is this class. Otherwise there must be as many
    folders as classes: they are the classes in the order of the folders' names.

    Raises:
        QnnError: if the folders are not as many as the classes, or one has no pictures.
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
        offset = 1  # ImageNet's classes, for a model that also has a background
    if len(folders) + offset != classes.count:
        counted = f"{len(folders)} class folders, but the model has {classes.count} classes"
        raise QnnError(f"{path} has {counted}: name these with --labels, as the folders are named")
    note = f"class folders are {offset} to {classes.count - 1} in the order of their names"
    return [*range(offset, classes.count)], note


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _pictures(folder: Path) -> list[Path]:
    """Return the pictures of a folder and its subfolders, in ImageFolder's order."""
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


_COLUMNS = ("path", "label")


_Rows = Callable[[Path], Iterator[tuple[str, Any, Any]]]
"""Yields the place, the path and the label of each sample in a table."""


def _read_table(rows: _Rows, path: Path, classes: Classes) -> Data:
    samples = []
    for where, name, label in rows(path):
        if not isinstance(name, str) or not name:
            raise QnnError(f"{where}: the path is no text: {name!r}")
        if not isinstance(label, str | int) or isinstance(label, bool):
            raise QnnError(f"{where}: the label is neither a name nor an integer: {label!r}")
        picture = path.parent / name
        if not picture.is_file():
            raise QnnError(f"{where}: there is no file {picture}")
        index = classes.index(label.strip() if isinstance(label, str) else label, where)
        samples.append(Sample(picture, where, label=index))
    return Data(CLASSES, tuple(samples))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise QnnError(f"{path} is no text in UTF-8: {error}") from error


def _csv_rows(path: Path) -> Iterator[tuple[str, Any, Any]]:
    """Read the columns "path" and "label" or, if they are missing, the first two columns."""
    reader = csv.reader(_text(path).splitlines(keepends=True), strict=True)
    places: tuple[int, ...] | None = None
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if places is None:
                names = [cell.strip().lower() for cell in row]
                has_names = set(_COLUMNS) <= set(names)
                places = tuple(map(names.index, _COLUMNS)) if has_names else (0, 1)
                if has_names:
                    continue
            if len(row) <= max(places):
                raise QnnError(f"{where}: a path and a label are needed, got {','.join(row)!r}")
            yield where, row[places[0]].strip(), row[places[1]]
    except csv.Error as error:
        raise QnnError(f"{path}, line {reader.line_num}: {error}") from error


def _json_rows(path: Path) -> Iterator[tuple[str, Any, Any]]:
    """Read an object from each line, with the fields "path" and "label"."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QnnError(f"{where} is no JSON: {error}") from error
        if not isinstance(fields, dict) or not set(_COLUMNS) <= fields.keys():
            raise QnnError(f"{where}: an object with path and label is needed, got {line.strip()}")
        yield where, fields["path"], fields["label"]


_READERS: dict[str, Callable[[Path, Classes], Data]] = {
    ".csv": partial(_read_table, _csv_rows),
    ".jsonl": partial(_read_table, _json_rows),
    ".ndjson": partial(_read_table, _json_rows),
    ".npz": read_npz,
    ".json": read_coco,
}


def read_data(path: Path, classes: Classes) -> Data:
    """Read the dataset that a model is evaluated on.

    Args:
        path: a folder, or a file whose ending tells its form.
        classes: the model's classes.

    Raises:
        QnnError: if something is wrong; the message has the file and the line.
    """
    if path.is_dir():
        data = (read_masked if is_masked(path) else read_folder)(path, classes)
    elif path.suffix.lower() in _READERS:
        data = _READERS[path.suffix.lower()](path, classes)
    else:
        endings = ", ".join(_READERS)
        raise QnnError(f"{path} is no data: a folder, or a file ending in {endings}, is needed")
    if not data.samples:
        raise QnnError(f"{path} has no samples")
    return data
