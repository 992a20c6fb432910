"""Options of custom operators that LiteRT itself has, flexbuffers maps, or that TensorFlow has."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Table
from frontends.tflite.flex import LISTS, read_list_options
from frontends.tflite.options.base import Options

# What the flexbuffers runtime raises on wild offsets, lengths and types.
_RUNTIME_ERRORS = (
    *(struct.error, IndexError, KeyError, OverflowError),
    *(AssertionError, TypeError, ValueError, UnicodeDecodeError),
)


@dataclass(frozen=True)
class DetectionPostProcessOptions(Options):
    """Detection; the fields as the file names them, with LiteRT's values for missing ones."""

    max_detections: int = 0
    max_classes_per_detection: int = 0
    detections_per_class: int = 100
    use_regular_nms: bool = False
    nms_score_threshold: float = 0.0
    nms_iou_threshold: float = 0.0
    num_classes: int = 0
    y_scale: float = 0.0
    x_scale: float = 0.0
    h_scale: float = 0.0
    w_scale: float = 0.0


_CLASSES: dict[str, type[Any]] = {
    "CUSTOM:TFLite_Detection_PostProcess": DetectionPostProcessOptions,
}


def is_foreign(code: str) -> bool:
    """Tell whether an operator is a custom one, and none that is known."""
    return code.startswith("CUSTOM:") and code not in {*_CLASSES, *LISTS}


def read_custom_options(code: str, operator: Table) -> Options | None:
    """Read a custom operator's options.

    Args:
        code: the operator's name, "CUSTOM:" before that in the file.
        operator: the operator's table.

    Returns:
        The options; None if the operator is none that is known.

    Raises:
        ModelFormatError: they are damaged, or no such options.
    """
    if not (code in LISTS or code in _CLASSES):
        return None
    where = f"{operator.where} options"
    content = operator.vector("CustomOptions", "uint8").tobytes()
    if code in LISTS:
        try:
            return read_list_options(content)
        except _RUNTIME_ERRORS as error:
            raise ModelFormatError(f"{where}: no node of TensorFlow ({error})") from error
    cls = _CLASSES[code]
    values = {}
    for field in fields(cls):
        value = _value(content, field.name, where)
        if value is not None:
            values[field.name] = _converted(value, field.default, f"{where}: {field.name}")
    options: Options = cls(**values)
    return options


def _value(content: bytes, name: str, where: str) -> bool | float | None:
    """Return a number of a map; None if it has none of that name."""
    try:
        entries = flexbuffers.GetRoot(bytearray(content)).AsMap
        entry = _entry(entries, name)
        if entry is None or entry.IsNull:
            return None
        if entry.IsBool:
            return bool(entry.AsBool)
        if not entry.IsNumeric:
            raise TypeError(f"it is of type {entry.Value!r:.40}")
        return float(entry.AsFloat) if entry.IsFloat else int(entry.AsInt)
    except _RUNTIME_ERRORS as error:
        raise ModelFormatError(
            f"{where}: cannot read {name}, the options are no flexbuffers map of numbers ({error})"
        ) from error


def _entry(entries: Any, name: str) -> Any:
    try:
        return entries[name]
    except KeyError:
        return None


def _converted(value: bool | float, default: Any, where: str) -> bool | int | float:
    """Return a number as the kind of a default, as LiteRT converts it."""
    if isinstance(default, bool):
        return bool(value)
    if not np.isfinite(value):
        raise ModelFormatError(f"{where} is {value}, needs a finite number")
    if isinstance(default, int):
        if not -(1 << 31) <= value < 1 << 31:
            raise ModelFormatError(f"{where} is {value}, needs an int32")
        return int(value)
    with np.errstate(over="ignore"):
        single = float(np.float32(value))
    if not np.isfinite(single):
        raise ModelFormatError(f"{where} is {value}, needs a float32")
    return single
