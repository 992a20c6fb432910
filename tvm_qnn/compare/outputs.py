"""Comparison of the outputs of two programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.compare.comparison import Comparison, Tally
from tvm_qnn.library.arrays import results_of

Array = np.ndarray[Any, Any]


class Program(Protocol):
    """What computes outputs of inputs."""

    @property
    def outputs(self) -> Sequence[TensorInfo]:
        """What it computes, in order."""

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Run it once."""


class Here:
    """A library, on this machine or on a device, as a program."""

    def __init__(self, library: Any) -> None:
        """Take what ``tvm_qnn.load`` or ``tvm_qnn.remote(…).load`` gives."""
        self._library = library
        self.inputs: Sequence[TensorInfo] = library.inputs
        self.outputs: Sequence[TensorInfo] = library.outputs

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Run it once."""
        return results_of(self._library.run(*inputs))


class Archive:
    """Outputs that another program gave, as a program that gives them whatever the input is."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        """Take the outputs by name."""
        self._arrays = [*arrays.values()]
        self.outputs = [
            TensorInfo(name, array.shape, str(array.dtype)) for name, array in arrays.items()
        ]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Return them."""
        del inputs
        return self._arrays


def compare_outputs(
    ours: Program,
    theirs: Program,
    runs: Iterable[tuple[Sequence[Array], Sequence[Array]]],
    title: str,
) -> Comparison:
    """Run two programs, and compare their outputs.

    Those of the same names, or if names differ those at the same places. Integers that are
    quantized alike are compared as they are, others by the real numbers that they mean.

    Args:
        ours: the one whose tensors the comparison names.
        theirs: the other one.
        runs: the inputs of both, run by run; each is taken when it is its turn.
        title: what people call the other one.

    Raises:
        QnnError: if they have another number of outputs, or an input does not fit.
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
    """Return where each of our outputs is among theirs."""
    if len(ours) != len(theirs):
        raise QnnError(
            f"outputs are compared one by one: one side has {', '.join(ours)}, the other "
            f"{', '.join(theirs)}"
        )
    if set(ours) == set(theirs):
        return [theirs.index(name) for name in ours]
    return [*range(len(ours))]
