"""Names: one per tensor for people, one per variable for Relax."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Sequence

from frontends.tflite.model import Tensor

# What a variable must not be called in TVMScript.
_RESERVED = {*keyword.kwlist, "I", "R", "T", "main"}


def tensor_names(tensors: Sequence[Tensor]) -> tuple[str, ...]:
    """One name per tensor: the file's, with ":index" behind it if it is empty or not unique."""
    counts = Counter(tensor.name for tensor in tensors)
    taken = set(counts)
    names = []
    for tensor in tensors:
        name = tensor.name
        if not name or counts[name] > 1:
            while name in taken:
                name = f"{name}:{tensor.index}"
            taken.add(name)
        names.append(name)
    return tuple(names)


class VariableNames:
    """Hands out names that are valid in TVMScript, none of them twice."""

    def __init__(self) -> None:
        """Starts with nothing handed out but what TVMScript reserves."""
        self._taken = set(_RESERVED)

    def fresh(self, tensor: Tensor, suffix: str = "") -> str:
        """A name like the tensor's, with a suffix."""
        # Converters join the names of the operators they merged with semicolons.
        first = tensor.name.split(";", 1)[0]
        base = re.sub(r"\W", "_", first, flags=re.ASCII)
        if not base or base[0].isdigit():
            base = f"tensor_{tensor.index}_{base}".rstrip("_")
        base += suffix
        name, count = base, 0
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name
