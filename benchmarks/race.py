"""Times programs in turn on one model."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import OURS, PEERS
from benchmarks.process import Conditions, PeerError, Running, compile_model, save_inputs
from benchmarks.report import largest_difference
from tvm_qnn.timing import LEAST_ROUNDS

TURN_SECONDS = 0.1
"""About how long a program runs before the next one's turn."""

MOST_RUNS = 200
"""Runs in one turn."""

SLOW_SECONDS = 0.5
"""A program whose run takes longer takes only as many turns as it must, of one run each."""

WITHOUT_AMX = " (no AMX)"

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Lane:
    """The times and results of one program with one model.

    Attributes:
        name: of the program.
        version: of its package.
        uses_amx: whether its process asked for AMX and got it.
        turns: seconds of each run, turn by turn.
        outputs: what it computed.
    """

    name: str
    version: str
    uses_amx: bool
    turns: list[list[float]]
    outputs: list[Array]

    @property
    def medians(self) -> list[float]:
        """The middle run of each turn, in seconds."""
        return [statistics.median(turn) for turn in self.turns]

    @property
    def median(self) -> float:
        """The middle turn, in seconds: the figure to quote."""
        return statistics.median(self.medians)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of the turns, in seconds."""
        low, _, high = statistics.quantiles(self.medians, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True)
class Race:
    """The result for one model.

    Attributes:
        model: its name.
        lanes: by key; tvm-qnn's is OURS.
        absent: why each of the others is not in ``lanes``, by key.
    """

    model: str
    lanes: dict[str, Lane]
    absent: dict[str, str]

    def ratio(self, key: str) -> float | None:
        """Divide the time of tvm-qnn by another program's: below 1 tvm-qnn is faster.

        The median of the ratios of each round, in which both ran one after the other; None if
        tvm-qnn did not run.
        """
        if OURS not in self.lanes:
            return None
        pairs = zip(self.lanes[OURS].medians, self.lanes[key].medians, strict=False)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    def difference(self, key: str) -> float | None:
        """Find an output's largest difference from tvm-qnn's; None if they have other shapes."""
        if OURS not in self.lanes:
            return None
        return largest_difference(self.lanes[OURS].outputs, self.lanes[key].outputs)


def race(
    name: str,
    model: Path,
    inputs: Sequence[Array],
    peers: Sequence[str],
    folder: Path,
    conditions: Conditions,
    *,
    rounds: int,
    seconds: float,
    also_without_amx: bool = False,
    say: Callable[[str], object] = print,
) -> Race:
    """Time programs on one model, in turn.

    Args:
        name: of the model.
        model: its file.
        inputs: one array for each of its inputs.
        peers: their keys in ``PEERS``.
        folder: for files in between.
        conditions: those of all programs.
        rounds: how many turns each takes.
        seconds: no new round begins after this time, though never fewer than LEAST_ROUNDS run.
        also_without_amx: whether to time those that use AMX a second time, without.
        say: called with what is being done.
    """
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        running: dict[str, Running] = {}

        def start(key: str, peer: str, held: Conditions) -> bool:
            place = folder / key
            place.mkdir(exist_ok=True)
            try:
                say(f"{name}: {PEERS[peer].name} compiles")
                # A program may choose its instructions here already.
                compiled = compile_model(peer, model, place, without_amx=held.without_amx)
                say(f"{name}: {PEERS[peer].name} loads")
                one = Running(peer, compiled.file, save_inputs(place, inputs), place, held)
            except PeerError as error:
                absent[key] = str(error)
                return False
            running[key] = stack.enter_context(one)
            return one.loaded.uses_amx

        for peer in peers:
            if missing := PEERS[peer].missing():
                absent[peer] = f"not installed: {', '.join(missing)}"
                continue
            if model.suffix not in PEERS[peer].formats:
                absent[peer] = f"it does not read {model.suffix} files"
                continue
            uses_amx = start(peer, peer, conditions)
            if uses_amx and also_without_amx:
                start(peer + WITHOUT_AMX, peer, replace(conditions, without_amx=True))
        say(f"{name}: in turn")
        turns = take_turns(
            {key: one.time for key, one in running.items()}, rounds=rounds, seconds=seconds
        )
        lanes = {
            key: Lane(
                PEERS[key.removesuffix(WITHOUT_AMX)].name
                + (WITHOUT_AMX if key.endswith(WITHOUT_AMX) else ""),
                one.loaded.version,
                one.loaded.uses_amx,
                turns[key],
                one.outputs(),
            )
            for key, one in running.items()
        }
    return Race(name, lanes, absent)


def take_turns(
    programs: Mapping[str, Callable[[int, int], list[float]]], *, rounds: int, seconds: float
) -> dict[str, list[list[float]]]:
    """Let programs run in turn, so that what slows the machine down slows all of them alike.

    Args:
        programs: given a number of runs to warm up and a number of runs to time, each returns
            the seconds of the latter.
        rounds: how many turns each takes.
        seconds: no new round begins after this time, though never fewer than LEAST_ROUNDS run.

    Returns:
        For each program the seconds of its runs, turn by turn.
    """
    usual = {key: min(time_runs(1, 2)) for key, time_runs in programs.items()}
    turns: dict[str, list[list[float]]] = {key: [] for key in programs}
    start = time.perf_counter()
    for done in range(max(rounds, LEAST_ROUNDS)):
        if done >= LEAST_ROUNDS and time.perf_counter() - start > seconds:
            break
        for key, time_runs in programs.items():
            if usual[key] < SLOW_SECONDS:
                # The first run finds the caches full of another program's data.
                count = round(TURN_SECONDS / max(usual[key], TURN_SECONDS / MOST_RUNS))
                turns[key].append(time_runs(2, max(count, 3)))
            elif done < LEAST_ROUNDS:
                turns[key].append(time_runs(0, 1))
    return turns
