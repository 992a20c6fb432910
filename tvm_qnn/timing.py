"""Times functions on one core, one alone or several in turn."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tvm_qnn.io.cores import environment, on_cores
from tvm_qnn.io.text import table

OURS, LITERT = "tvm-qnn", "LiteRT (XNNPACK)"
"""The names of programs that are timed."""

LEAST_ROUNDS = 3

QUIET = 1.25
"""The largest median of runs on a quiet machine, as a multiple of the fastest run."""


@dataclass(frozen=True, repr=False)
class Timing:
    """Seconds of repeated runs, by the wall clock unless stated otherwise.

    Attributes:
        seconds: the time of each run.
        starts: the start of each run, by the same clock; empty if it was not recorded.
    """

    seconds: tuple[float, ...]
    starts: tuple[float, ...] = ()

    @staticmethod
    def of(function: Callable[[], object], repeat: int) -> Timing:
        """Time ``repeat`` calls of a function."""
        return Timing(tuple(_seconds(function) for _ in range(repeat)))

    @property
    def median(self) -> float:
        """The median run, in seconds: the figure to quote."""
        import statistics  # takes a twentieth of the program's start

        return statistics.median(self.seconds)

    @property
    def minimum(self) -> float:
        """The fastest run, in seconds."""
        return min(self.seconds)

    @property
    def maximum(self) -> float:
        """The slowest run, in seconds."""
        return max(self.seconds)

    def percentile(self, percent: float) -> float:
        """Return the time, in seconds, that a percentage of the runs did not exceed."""
        rank = math.ceil(percent / 100 * len(self.seconds))
        return sorted(self.seconds)[max(rank, 1) - 1]

    @property
    def is_quiet(self) -> bool:
        """Whether nothing disturbed the runs: the median is near the fastest run."""
        return self.median <= QUIET * self.minimum

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {text}" for name, text in self._figures())
        return f"Timing of {len(self.seconds)} runs: {figures}"

    def _repr_html_(self) -> str:
        return table(f"Timing of {len(self.seconds)} runs", ("", "a run"), self._figures())

    def _figures(self) -> list[tuple[str, str]]:
        return [
            (name, f"{milliseconds(getattr(self, of))} ms")
            for name, of in {"median": "median", "fastest": "minimum", "slowest": "maximum"}.items()
        ]


def milliseconds(seconds: float, digits: int = 3) -> str:
    """Write a time in milliseconds with some significant digits, and all digits before the dot."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def warn_of_disturbance(timings: Mapping[str, Timing]) -> None:
    """Warn of each program, by its name, whose runs other programs disturbed."""
    for name, timing in timings.items():
        if not timing.is_quiet:
            ratio = timing.median / timing.minimum
            warnings.warn(
                f"the machine was not quiet: the median run of {name} took {ratio:.2f} times as "
                "long as the fastest; end what else runs, and time again, with more rounds",
                stacklevel=3,
            )


def alternate(
    functions: Mapping[str, Callable[[], object]],
    rounds: int = 30,
    seconds: float = 20.0,
    warmup: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time functions in turn, one call of each in a round.

    A temporary slowdown of the machine then affects all functions alike.

    Args:
        functions: the functions by name.
        rounds: how many rounds to time.
        seconds: no new round begins after this time, once LEAST_ROUNDS have run.
        warmup: how many untimed rounds run before.
        clock: returns a time in seconds; differences of it are measured.
    """
    for _ in range(warmup):
        for function in functions.values():
            function()
    measured: dict[str, list[float]] = {name: [] for name in functions}
    starts: dict[str, list[float]] = {name: [] for name in functions}
    start = time.perf_counter()
    for done in range(rounds):
        if done >= LEAST_ROUNDS and time.perf_counter() - start > seconds:
            break
        for name, function in functions.items():
            starts[name].append(clock())
            measured[name].append(_seconds(function, clock))
    return {name: Timing(tuple(measured[name]), tuple(starts[name])) for name in functions}


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and TVM's parallel loops in it, on one core during the block.

    If the system cannot bind a thread to a core (macOS, Windows), the loops still use only one
    thread.
    """
    # TVM reads the variable at every parallel loop.
    with environment("TVM_NUM_THREADS", "1"), on_cores(1):
        yield


def _seconds(
    function: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    start = clock()
    function()
    return clock() - start
