"""Variables with a name, which the subgraphs of a file share."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from frontends.tflite.model import Key
from qnn_ops.dialect.tensor_info import StateInfo
from qnn_ops.errors import QnnError
from tvm_qnn.library.session import Session


class Variables:
    """The values that an interpreter keeps by container and name."""

    def __init__(self) -> None:
        """Begin without variables."""
        self._first: dict[Key, tuple[int, np.ndarray]] = {}
        self._values: dict[Key, np.ndarray] = {}

    def add(self, keys: Sequence[Key], states: Sequence[StateInfo], number: int) -> None:
        """Add the variables of a subgraph.

        Args:
            keys: the keys of the subgraph's states.
            states: the states themselves.
            number: the subgraph's index.

        Raises:
            QnnError: a variable of this name has another shape, dtype or first value in another
                subgraph. Its value would depend on which subgraph ran first.
        """
        for key, state in zip(keys, states, strict=True):
            if isinstance(key, int):
                continue
            value = state.array()
            other, known = self._first.setdefault(key, (number, value))
            if (known.shape, known.dtype) != (value.shape, value.dtype):
                raise QnnError(
                    f"the variable {key[1]!r} is {known.dtype} of shape {known.shape} in subgraph "
                    f"{other}, and {value.dtype} of shape {value.shape} in subgraph {number}"
                )
            if known.tobytes() != value.tobytes():
                raise QnnError(
                    f"the variable {key[1]!r} has other first values in subgraph {other} than in "
                    f"subgraph {number}"
                )
            self._values.setdefault(key, value)

    def run(self, session: Session, keys: Sequence[Key], inputs: Iterable[np.ndarray]) -> Any:
        """Run a subgraph on the variables' present values, and keep the values that it leaves."""
        if not self._values:
            return session.run(*inputs)
        state = session.kept()
        session.restore([self._values.get(key, own) for key, own in zip(keys, state, strict=True)])
        found = session.run(*inputs)
        left = zip(keys, session.kept(), strict=True)
        self._values.update({key: value for key, value in left if not isinstance(key, int)})
        return found
