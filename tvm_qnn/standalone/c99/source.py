"""Writes types, numbers and small helper functions in C99."""

import re
from collections.abc import Sequence
from math import isinf, isnan
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError

_TYPES = {"float32": "float", "float64": "double", "bool": "uint8_t"}

SPECIAL = re.compile(r"\b(NAN|INFINITY)\b")
"""Finds macros of C's math.h."""


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


def in_comment(text: str) -> str:
    """Return a text that neither ends a comment of C nor begins one, and is on one line.

    Spaces replace what continues lines or is not printed, and separate ``*`` from ``/``.
    """
    plain = "".join(each if each.isprintable() and each != "\\" else " " for each in text)
    # ??/ is a backslash in C99.
    return re.sub(r"(?<=[*?])(?=/)|(?<=/)(?=\*)", " ", plain)


def c_string(text: str) -> str:
    """Write a text as a string in C; question marks are escaped, so that none begins a trigraph."""

    def written(byte: int) -> str:
        is_plain = 0x20 <= byte < 0x7F and byte not in b'"\\?'
        return chr(byte) if is_plain else f"\\{byte:03o}"

    return f'"{"".join(map(written, text.encode(errors="replace")))}"'


_NAMES = {"+": "add", "-": "subtract", "*": "multiply"}


class Source:
    """Functions in C, and the functions that they call.

    Attributes:
        texts: the functions.
        helpers: small functions that expressions call, by name.
        calls: the functions for real numbers of C's library that are called.
    """

    def __init__(self, prefix: str) -> None:
        """Begin without functions.

        Args:
            prefix: the beginning of the helpers' names.
        """
        self.texts: list[str] = []
        self.helpers: dict[str, str] = {}
        self.calls: set[str] = set()
        self._prefix = prefix

    @property
    def text(self) -> str:
        """The helpers and the functions."""
        return "\n".join([*self.helpers.values(), *self.texts])

    def choice(self, kind: str, sign: str, dtype: str) -> str:
        """Return the name of a function for the smaller or the larger of two numbers."""
        name, c = f"{self._prefix}_{kind}_{dtype}", c_type(dtype)
        return self._binary(name, c, f"a {sign} b ? a : b")

    def wrapping(self, sign: str, dtype: str) -> str:
        """Return the name of a function of two integers with a wrapping result, which C lacks."""
        name, c = f"{self._prefix}_{_NAMES[sign]}_{dtype}", c_type(dtype)
        return self._binary(name, c, f"({c})((u{c})a {sign} (u{c})b)")

    def _binary(self, name: str, c: str, result: str) -> str:
        head = f"static inline {c} {name}({c} a, {c} b)"
        self.helpers[name] = f"{head} {{\n  return {result};\n}}\n"
        return name

    def reinterpretation(self, to: str, of: str) -> str:
        """Return the name of a function that reads a number's bits as another type."""
        name = f"{self._prefix}_{to}_of_{of}"
        self.helpers[name] = (
            f"static inline {c_type(to)} {name}({c_type(of)} bits) {{\n"
            f"  {c_type(to)} value;\n  memcpy(&value, &bits, sizeof value);\n  return value;\n}}\n"
        )
        return name
