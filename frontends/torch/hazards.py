"""Operators whose results would not be PyTorch's: random numbers, integers divided by zero."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.torch.reader import operator_of, values_of
from qnn_ops.arrays import Array

_DIVISIONS = ("floor_divide", "floor_divide_", "remainder", "remainder_", "fmod", "fmod_", "div")
_RANDOM = "nondeterministic_seeded"


def check_hazards(node: Any, constants: Mapping[str, Array]) -> None:
    """Check an operator that TVM's importer accepts but may compute differently.

    Args:
        node: the call of the operator.
        constants: of the program, by the names of their nodes.

    Raises:
        UnsupportedError: it draws random numbers, or may divide integers by zero.
    """
    if not hasattr(node.target, "_schema"):
        return
    names = [argument.name for argument in node.target._schema.arguments]
    values = dict(zip(names, values_of(node), strict=True))
    if _is_random(node, values):
        raise UnsupportedError("it is random; of a dropout: call eval() before torch.export.export")
    if _divides_integers(node):
        divisor = values["other"]
        divisor = constants.get(divisor.name) if hasattr(divisor, "name") else divisor
        if divisor is None or not np.all(divisor):
            # The processor's division would end the process.
            raise UnsupportedError("it divides integers by numbers that may be 0")


def _is_random(node: Any, values: Mapping[str, Any]) -> bool:
    """Tell whether a run draws numbers. TVM's importer draws them once, or leaves them out."""
    if _RANDOM not in {tag.name for tag in node.target.tags}:
        return False
    is_training = values.get("train", values.get("training", True)) is not False
    shares = [values[name] for name in ("p", "dropout", "dropout_p") if name in values]
    return is_training and shares != [0]


def _divides_integers(node: Any) -> bool:
    if operator_of(node).split(".")[0] not in _DIVISIONS:
        return False
    dtype = str(node.meta["val"].dtype)
    return not dtype.startswith(("torch.float", "torch.bfloat"))
