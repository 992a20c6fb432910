"""Reads the options of an operator by the fields of their dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, get_origin, get_type_hints

from typing_extensions import dataclass_transform

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Table
from frontends.tflite.options.fields import BY_TYPE, MEMBERS, Reader
from frontends.tflite.schema import (
    LATER_OPTIONS_TABLES,
    OPTIONS_BY_OPERATOR,
    OPTIONS_TABLES,
    by_value,
)

_TABLE_NAMES = {"": by_value(OPTIONS_TABLES), "2": by_value(LATER_OPTIONS_TABLES)}
_CLASSES: dict[str, type[Options]] = {}


@dataclass_transform(frozen_default=True)
class Options:
    """Base of all options: frozen dataclasses for the schema's table of their name, or several."""

    def __init_subclass__(cls, tables: str = "") -> None:
        dataclass(frozen=True)(cls)
        _CLASSES.update(dict.fromkeys(tables.split() or [cls.__name__], cls))


def read_options(code: str, operator: Table) -> Options | None:
    """Read an operator's options.

    Args:
        code: the operator's name, for instance "CONV_2D".
        operator: the operator's table.

    Returns:
        The options, with the schema's default values if the file has none for this operator; None
        if the importer reads no options of the operator.

    Raises:
        ModelFormatError: the file has another operator's options, or invalid values.
    """
    needed = OPTIONS_BY_OPERATOR.get(code, "")
    cls = _CLASSES.get(needed)
    if cls is None:
        return None
    where = f"{operator.where} options"
    accessor_type = MEMBERS[needed]
    union = "2" if needed in LATER_OPTIONS_TABLES else ""
    number = int(operator.scalar(f"BuiltinOptions{union}Type"))
    name = _TABLE_NAMES[union].get(number, f"number {number}")
    if name not in (needed, "NONE"):
        raise ModelFormatError(f"{where}: are {name}, needs {needed}")
    table = (
        None if name == "NONE" else operator.union(f"BuiltinOptions{union}", accessor_type, where)
    )
    table = table or Table.empty(accessor_type, where)
    return cls(**{field: read(table) for field, read in _readers(needed).items()})


@cache
def _readers(name: str) -> dict[str, Reader]:
    hints = get_type_hints(_CLASSES[name], include_extras=True)
    return {
        field: hint.__metadata__[0] if hasattr(hint, "__metadata__") else BY_TYPE[hint](field)
        for field, hint in hints.items()
        if get_origin(hint) is not ClassVar
    }
