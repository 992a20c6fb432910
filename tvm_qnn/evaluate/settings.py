"""Reads the settings of a model's data from a TOML file."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.io.preparation import ORDERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(value: Any) -> bool:
    return _number(value) or (isinstance(value, list) and value != [] and all(map(_number, value)))


def _nonzero(value: Any) -> bool:
    return _numbers(value) and all(value if isinstance(value, list) else [value])


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# For each key: the value it needs, in words, and a function that checks a value.
_KEYS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "crop": ("a number above 0, up to 1", lambda value: _number(value) and 0 < value <= 1),
    "resize": ("a positive integer", lambda value: _count(value) and value > 0),
    "order": (f"one of {', '.join(ORDERS)}", lambda value: value in ORDERS),
    "mean": ("a number or a list of numbers", _numbers),
    "std": ("a number or a list of numbers, none of them 0", _nonzero),
    "offset": ("an integer, 0 or more", _count),
    "labels": ("the name of a file", lambda value: isinstance(value, str) and value != ""),
}


def read_settings(path: Path) -> dict[str, Any]:
    """Read a model's data settings from a TOML file.

    Returns:
        The keys that the file has of crop, resize, order, mean, std, offset and labels. mean and
        std are tuples, labels is a path.

    Raises:
        QnnError: if the file is not TOML, or has an unknown key or value.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # a wrong encoding raises a ValueError, too
        raise QnnError(f"{path} is no TOML: {error}") from error
    for name, value in found.items():
        if name not in _KEYS:
            raise QnnError(f"{path}: {name!r} is no setting; there are {', '.join(_KEYS)}")
        needed, fits = _KEYS[name]
        if not fits(value):
            raise QnnError(f"{path}: {name} needs to be {needed}, got {value!r}")
    for name in ("mean", "std"):
        if name in found:
            value = found[name]
            found[name] = tuple(map(float, value if isinstance(value, list) else [value]))
    if "labels" in found:
        found["labels"] = path.parent / found["labels"]
    return found
