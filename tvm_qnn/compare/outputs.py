"""Compares the outputs of two programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.compare.comparison import Comparison, Tally
from tvm_qnn.library.arrays import results_of


class Program(Protocol):
    """A program that computes outputs from inputs."""

    @property
    def outputs(self) -> Sequence[TensorInfo]:
        """The descriptions of its outputs, in order."""

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Run the program once."""


class Here:
    """A library, on this machine or on a device, as a program."""

    def __init__(self, library: Any) -> None:
        """Take a library from ``tvm_qnn.load`` or ``tvm_qnn.remote(…).load``."""
        self._library = library
        self.inputs: Sequence[TensorInfo] = library.inputs
        self.outputs: Sequence[TensorInfo] = library.outputs

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run the library once."""
        return results_of(self._library.run(*inputs))


class Archive:
    """The stored outputs of another program; a run returns them for any input."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take the outputs by name."""
        self._arrays = [*arrays.values()]
        self.outputs = [
            TensorInfo(name, array.shape, str(array.dtype)) for name, array in arrays.items()
        ]

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs."""
        del inputs
        return self._arrays


def compare_outputs(
    ours: Program,
    theirs: Program,
    runs: Iterable[tuple[Sequence[np.ndarray], Sequence[np.ndarray]]],
    title: str,
) -> Comparison:
    """Run two programs, and compare their outputs.

    Outputs are paired by their names or, if the names differ, by their order. Integers of the same
    encoding are compared directly, all others by their real values.

    Args:
        ours: the program whose tensors the comparison names.
        theirs: the other program.
        runs: the inputs of both, run by run; each is read when its run begins.
        title: a name for the other program.

    Raises:
        QnnError: if the numbers of outputs differ, or an input does not fit.
    """
    places = _places([info.name for info in ours.outputs], [info.name for info in theirs.outputs])
    tallies = [
        Tally(place, "", info, theirs.outputs[other])
        for place, (info, other) in enumerate(zip(ours.outputs, places, strict=True))
    ]
    count = 0
    for given, other_given in runs:
        expected = theirs.run(other_given)
        for tally, array, other in zip(tallies, ours.run(given), places, strict=True):
            tally.add(array, expected[other], count)
        count += 1
    return Comparison(tuple(tally.result() for tally in tallies), title, count)


def _places(ours: Sequence[str], theirs: Sequence[str]) -> list[int]:
    """Return the index among their outputs for each of ours."""
    if len(ours) != len(theirs):
        raise QnnError(
            f"outputs are compared one by one: one side has {', '.join(ours)}, the other "
            f"{', '.join(theirs)}"
        )
    if set(ours) == set(theirs):
        return [theirs.index(name) for name in ours]
    return [*range(len(ours))]
