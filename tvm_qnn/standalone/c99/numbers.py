"""Writes types and numbers in C99."""

import re
from collections.abc import Sequence
from math import isinf, isnan
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError

_TYPES = {"float32": "float", "float64": "double", "bool": "uint8_t"}


def c_type(dtype: str) -> str:
    """Return C's name of a number's type.

    Raises:
        QnnError: C99 has no such type, as for float16.
    """
    if dtype in ("float16", "bfloat16"):
        raise QnnError(f"plain C has no {dtype}: export the model for a processor instead")
    return _TYPES.get(dtype, f"{dtype}_t")


def c_number(value: Any, dtype: str) -> str:
    """Write a number in C.

    Args:
        value: a number of Python or numpy.
        dtype: the number's type.
    """
    if dtype.startswith("float"):
        return _c_real(float(value), dtype)
    number = int(value)
    end = {"uint32": "U", "uint64": "ULL", "int64": "LL"}.get(dtype, "")
    if number in (-(2**31), -(2**63)):  # C has no literal for it
        return f"({number + 1}{end} - 1)"
    return f"({number}{end})" if number < 0 else f"{number}{end}"


def c_array(kind: str, name: str, numbers: Sequence[str], per_line: int = 20) -> str:
    """Write the definition of an array. C has no empty arrays, so an empty one gets a 0."""
    given = numbers or ["0"]
    lines = (given[start : start + per_line] for start in range(0, len(given), per_line))
    body = ",\n".join(", ".join(line) for line in lines)
    return f"{kind} {name}[] = {{\n{body}}};\n"


def _c_real(number: float, dtype: str) -> str:
    if isnan(number) or isinf(number):
        name = "NAN" if isnan(number) else "INFINITY"
        return f"({'-' if number < 0 else ''}({c_type(dtype)}){name})"
    text = f"{np.float32(number):.9g}" if dtype == "float32" else f"{number:.17g}"
    text = text if re.search(r"[.e]", text) else f"{text}.0"
    text += "f" if dtype == "float32" else ""
    return f"({text})" if text.startswith("-") else text
