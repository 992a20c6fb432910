"""Boxes as COCO has them: a .json file of annotations, and pictures."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import BOXES, Classes, Data, Sample


def read_coco(path: Path, classes: Classes) -> Data:
    """Read annotations; the pictures lie beside the file, or in a folder ``images`` there.

    Categories that are all named as the model's classes are these; others are the classes in the
    order of their numbers, if there are as many; else the category 1 is the class 0.

    Raises:
        QnnError: for what is wrong in the file.
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
    """Return the model's class of each category, and how it was found."""
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
