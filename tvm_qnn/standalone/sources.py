"""Writes the files of a standalone export."""

from collections.abc import Mapping
from typing import Any

from tvm_qnn.io.templates import filled

_FILES = {".h": "model.h", ".hpp": "model.hpp", ".c": "model.c", "_main.c": "main.c"}
"""The templates of the files that every export has, by the ends of the files' names."""


def files(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers, the support code and the program that runs a model on files, by name.

    Args:
        facts: the model's facts, from ``facts_of``.
    """
    return {
        f"{facts['prefix']}{end}": filled("tvm_qnn.standalone", name, facts)
        for end, name in _FILES.items()
    }
