"""Functions in C, with the small functions that their expressions call."""

from __future__ import annotations

from tvm_qnn.standalone.c99.numbers import c_type

_NAMES = {"+": "add", "-": "subtract", "*": "multiply"}


class Source:
    """Functions in C, and what they need.

    Attributes:
        texts: the functions.
        helpers: by name, small functions that expressions call.
        calls: the functions of C's library for real numbers that are called.
    """

    def __init__(self, prefix: str) -> None:
        """Begin without a function.

        Args:
            prefix: what the names of helpers begin with.
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
        """Return the name of a function for the lesser or the greater of two numbers."""
        name, c = f"{self._prefix}_{kind}_{dtype}", c_type(dtype)
        self.helpers[name] = (
            f"static inline {c} {name}({c} a, {c} b) {{\n  return a {sign} b ? a : b;\n}}\n"
        )
        return name

    def wrapping(self, sign: str, dtype: str) -> str:
        """Return the name of a function of two integers whose result wraps, which C does not."""
        name, c = f"{self._prefix}_{_NAMES[sign]}_{dtype}", c_type(dtype)
        self.helpers[name] = (
            f"static inline {c} {name}({c} a, {c} b) {{\n"
            f"  return ({c})((u{c})a {sign} (u{c})b);\n}}\n"
        )
        return name

    def reinterpretation(self, to: str, of: str) -> str:
        """Return the name of a function that reads the bits of a number as another type."""
        name = f"{self._prefix}_{to}_of_{of}"
        self.helpers[name] = (
            f"static inline {c_type(to)} {name}({c_type(of)} bits) {{\n"
            f"  {c_type(to)} value;\n  memcpy(&value, &bits, sizeof value);\n  return value;\n}}\n"
        )
        return name
