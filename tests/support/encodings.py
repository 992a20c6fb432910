"""Attributes of quantized operators, with scale and zero point of a tensor side by side."""

from typing import Any

_TENSORS = ("data", "input", "kernel", "lhs", "output", "rhs", "weight")


def encodings(**given: Any) -> dict[str, Any]:
    """Return attributes: ``input=(0.5, 3)`` stands for ``input_scale`` and ``input_zero_point``."""
    attrs: dict[str, Any] = {}
    for name, value in given.items():
        if name in _TENSORS:
            attrs[f"{name}_scale"], attrs[f"{name}_zero_point"] = value
        else:
            attrs[name] = value
    return attrs
