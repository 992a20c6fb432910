"""Functions in C, and the small helper functions that their expressions call."""

from tvm_qnn.standalone.c99.numbers import c_type

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
