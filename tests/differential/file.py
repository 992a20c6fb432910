"""A file of random graphs of any format, with its framework's answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qnn_ops.arrays import Array


class RefusedError(Exception):
    """The framework itself refuses a file, and says why: nothing is there to compare."""


@dataclass(frozen=True)
class File:
    """Random graphs, and their framework's results.

    Attributes:
        content: the file.
        operators: how many it has.
        arrays: its inputs.
        owners: the graph of each output.
        answers: the outputs of each run.
        load: imports the file; gives a module and its parameters.
        bounds: how far each output may lie off; none if all are exact.
        runs: the inputs of each run; none if they are ``arrays`` in all.
    """

    content: bytes
    operators: int
    arrays: Sequence[Array]
    owners: Sequence[int]
    answers: Sequence[Sequence[Array]]
    load: Callable[[], tuple[Any, Any]]
    bounds: Sequence[float] = ()
    runs: Sequence[Sequence[Array]] = ()
