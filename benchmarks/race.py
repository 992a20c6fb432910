"""Times several programs on one model, in turn."""

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
"""The approximate time that a program runs before the next one's turn."""

MOST_RUNS = 200
"""The most runs in one turn."""

SLOW_SECONDS = 0.5
"""A program whose run takes longer gets the fewest turns, of one run each."""

WITHOUT_AMX = " (no AMX)"

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Lane:
    """The times and results of one program with one model.

    Attributes:
        name: the program's name.
        version: the version of its package.
        uses_amx: whether its process asked for AMX and got it.
        turns: seconds of each run, by turn.
        outputs: its outputs.
    """

    name: str
    version: str
    uses_amx: bool
    turns: list[list[float]]
    outputs: list[Array]

    @property
    def medians(self) -> list[float]:
        """The median run of each turn, in seconds."""
        return [statistics.median(turn) for turn in self.turns]

    @property
    def median(self) -> float:
        """The median turn, in seconds: the figure to quote."""
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
        model: the model's name.
        lanes: lanes by key; tvm-qnn's key is OURS.
        absent: by key, the reasons why the other programs are not in ``lanes``.
    """

    model: str
    lanes: dict[str, Lane]
    absent: dict[str, str]

    def ratio(self, key: str) -> float | None:
        """Divide the time of tvm-qnn by another program's: tvm-qnn is faster if this is below 1.

        The ratio is the median of each round's ratio, in which both ran one after the other; None
        if tvm-qnn did not run.
        """
        if OURS not in self.lanes:
            return None
        pairs = zip(self.lanes[OURS].medians, self.lanes[key].medians, strict=False)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    def difference(self, key: str) -> float | None:
        """Return the largest difference of outputs from tvm-qnn's; None if their shapes differ."""
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
        name: the model's name.
        model: the model's file.
        inputs: one array for each input of the model.
        peers: the programs' keys in ``PEERS``.
        folder: the folder for temporary files.
        conditions: the conditions of all programs.
        rounds: how many turns each takes.
        seconds: no new round begins after this time, though never fewer than LEAST_ROUNDS run.
        also_without_amx: whether to time programs that use AMX a second time without it.
        say: called with a description of each step.
    """
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        running: dict[str, Running] = {}

        def start(key: str, peer: str, held: Conditions) -> bool:
            place = folder / key
            place.mkdir(exist_ok=True)
            try:
                say(f"{name}: {PEERS[peer].name} compiles")
                # Some programs choose their instructions in this step.
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
    """Run programs in turn, so that any slowdown of the machine affects all of them alike.

    Args:
        programs: functions of a number of warm-up runs and a number of timed runs; each returns the
            seconds of the timed runs.
        rounds: how many turns each takes.
        seconds: no new round begins after this time, though never fewer than LEAST_ROUNDS run.

    Returns:
        For each program the seconds of its runs, by turn.
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
