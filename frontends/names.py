"""Names of variables, made of what a model file calls its tensors."""

from __future__ import annotations

import keyword
import re

# What a variable must not be called in TVMScript.
_RESERVED = {*keyword.kwlist, "I", "R", "T", "main"}


class VariableNames:
    """Hands out names that are valid in TVMScript, none of them twice."""

    def __init__(self) -> None:
        """Starts with nothing handed out but what TVMScript reserves."""
        self._taken = set(_RESERVED)

    def fresh(self, text: str, prefix: str, suffix: str = "") -> str:
        """A name like the text, with a suffix.

        Args:
            text: what the file says; any characters.
            prefix: put before a text that is empty or begins with a digit.
            suffix: put behind it.
        """
        base = re.sub(r"\W", "_", text, flags=re.ASCII)
        if not base or base[0].isdigit():
            base = f"{prefix}_{base}".rstrip("_")
        base += suffix
        name, count = base, 0
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name
