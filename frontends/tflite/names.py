"""Names of a model's tensors, none of them twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from frontends.tflite.model import Tensor


def tensor_names(tensors: Sequence[Tensor]) -> tuple[str, ...]:
    """Name each tensor: the file's name, with ":index" behind it if it is empty or not unique."""
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
