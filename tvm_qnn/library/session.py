"""Streams of runs: a session keeps a model's state from one run to the next."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qnn_ops.dialect.tensor_info import StateInfo
from tvm_qnn.library.arrays import Given

Step = Callable[..., tuple[Any, list[np.ndarray]]]
"""Runs a model on its state and the arguments of ``run``; returns its result and the new state."""


class Session:
    """A stream of runs of one library, with a state of its own; ``Library.session`` makes it.

    Each run begins with the state that the run before it left. Sessions of one library do not
    affect each other. Threads may share a session; its runs then come one after another. A
    pickled session is the library's file and the state: the copy goes on from there alone.
    """

    def __init__(self, states: Sequence[StateInfo], step: Step) -> None:
        """Begin with the state before the first run.

        Args:
            states: the values that the model keeps.
            step: runs the model once.
        """
        self._states = tuple(states)
        self._step = step
        self._lock = threading.Lock()
        self._arrays = self._initial()

    def run(self, /, *arrays: Given, **options: Any) -> Any:
        """Run the model once, as ``Library.run`` does, and keep its new state.

        Raises:
            QnnError: as ``Library.run`` raises it; the state is then unchanged.
        """
        with self._lock:
            result, self._arrays = self._step(self._arrays, *arrays, **options)
        return result

    def reset(self) -> None:
        """Go back to the state before the first run."""
        with self._lock:
            self._arrays = self._initial()

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Copies of the values that the model keeps, by name; empty if it keeps none."""
        with self._lock:
            arrays = self._arrays
        return {info.name: array.copy() for info, array in zip(self._states, arrays, strict=True)}

    def kept(self) -> list[np.ndarray]:
        """Return the model's kept values in order, for another session of the same library."""
        with self._lock:
            return list(self._arrays)

    def restore(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the state to values that ``kept`` returned."""
        with self._lock:
            self._arrays = list(arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._states, self._step, self.kept())

    def _initial(self) -> list[np.ndarray]:
        return [info.array() for info in self._states]


def _restored(states: Sequence[StateInfo], step: Step, arrays: Sequence[np.ndarray]) -> Session:
    session = Session(states, step)
    session.restore(arrays)
    return session
