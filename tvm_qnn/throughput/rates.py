"""Measures the rates of programs that run streams, in turn."""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.closing import Closing
from tvm_qnn.timing import LEAST_ROUNDS

WARMUP = 2
"""The runs of a stream before it is timed."""

TURN_SECONDS = 0.5
"""The seconds of a program's turn; longer if a single run takes longer."""


class Streams(Closing):
    """A program that runs a model in several streams at once; as a context, it ends them."""

    @abstractmethod
    def runs_per_second(self, seconds: float) -> float:
        """Let all streams run for some seconds, and return their runs in a second together."""


def rate(run: Callable[[], object], seconds: float) -> float:
    """Run one stream for some seconds, and return its runs in a second."""
    runs = 0
    start = time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds or not runs:
        run()
        runs += 1
    return runs / spent


def in_turn(
    programs: Mapping[str, Streams], batch: int, *, rounds: int, seconds: float = 20.0
) -> dict[str, list[float]]:
    """Return the images a second of programs in each turn.

    A slowdown of the machine affects all programs alike.

    Args:
        programs: the programs by name.
        batch: the images of a run.
        rounds: the turns of each program.
        seconds: no new round begins after this time, once LEAST_ROUNDS have run.
    """
    for program in programs.values():
        program.runs_per_second(TURN_SECONDS / 4)
    turns: dict[str, list[float]] = {name: [] for name in programs}
    start = time.perf_counter()
    for done in range(max(rounds, LEAST_ROUNDS)):
        if done >= LEAST_ROUNDS and time.perf_counter() - start > seconds:
            break
        for name, program in programs.items():
            turns[name].append(batch * program.runs_per_second(TURN_SECONDS))
    return turns


def with_batch(infos: Sequence[TensorInfo], batch: int) -> list[TensorInfo]:
    """Return a model's inputs for a batch.

    Raises:
        QnnError: if an input is not for a single image.
    """
    for info in infos:
        if batch > 1 and info.shape[:1] != (1,):
            raise QnnError(f"input {info.name!r} of shape {info.shape} does not take single images")
    return [replace(info, shape=(batch, *info.shape[1:]) if info.shape else ()) for info in infos]
