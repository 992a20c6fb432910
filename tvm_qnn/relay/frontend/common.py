"""``relay.frontend.common``, as far as scripts use it."""

from typing import Any

from tvm_qnn.relay.testing import run_infer_type as infer_type

__all__ = ["infer_shape", "infer_type"]


def infer_shape(inputs: Any, mod: Any = None) -> tuple[int, ...]:
    """Return the shape of an expression."""
    del mod
    return tuple(int(size) for size in infer_type(inputs).checked_type.shape)
