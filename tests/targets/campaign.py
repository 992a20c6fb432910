"""Tries many pairs of a model and a target, in processes that may die."""

import math
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.targets.models import Model
from tests.targets.processors import Row
from tests.targets.trial import Outcome, try_target

_MEMORY = 12 << 30  # bytes of address space
_PATIENCE = 900.0  # seconds for one pair
_FORK = multiprocessing.get_context("fork")


@dataclass
class Task:
    """A model, and the targets for which it is still to be tried.

    Attributes:
        model: which one.
        rows: the targets.
        emulate: whether to run code in an emulator if this processor cannot run it.
        since: when the first of the targets was begun.
    """

    model: Model
    rows: list[Row]
    emulate: bool
    since: float = field(default_factory=time.monotonic)


def tasks(models: Sequence[Model], rows: Sequence[Row], *, whole: bool) -> list[Task]:
    """List the pairs to try.

    Args:
        models: in order.
        rows: the targets.
        whole: every model for every target, and emulated where it is not too large; else each
            large model for a few of them, another few for the next model, and only the smallest
            ones emulated.
    """
    chosen = []
    for number, model in enumerate(models):
        stride = 1 if whole else model.stride
        first = number % stride
        mine = [row for i, row in enumerate(rows) if i % stride == first]
        chosen.append(Task(model, mine, model.emulates and (whole or model.stride == 1)))
    return chosen


def run_all(work: Sequence[Task], *, jobs: int, seconds: float = math.inf) -> Iterator[Outcome]:
    """Try all, each model in a process of its own.

    A process that dies, hangs or takes too much memory is the outcome of the pair that it was
    at, and another one goes on after it.

    Args:
        work: models, and the targets to try each for.
        jobs: how many processes at a time.
        seconds: after which no other model begins.

    Yields:
        An outcome for each pair; none for models that are not imported, or did not begin.
    """
    waiting = [task for task in reversed(work) if task.rows]
    active: dict[Any, tuple[Task, Callable[[], str]]] = {}
    end_of_time = time.monotonic() + seconds
    while active or (waiting and time.monotonic() < end_of_time):
        while waiting and len(active) < jobs and time.monotonic() < end_of_time:
            connection, end = _start(waiting[-1])
            active[connection] = (waiting.pop(), end)
        ready = wait(list(active), timeout=10)
        late = [c for c, (task, _) in active.items() if time.monotonic() - task.since > _PATIENCE]
        for connection in [*ready, *(c for c in late if c not in ready)]:
            task, end = active[connection]
            task.since = time.monotonic()
            try:
                message = connection.recv() if connection in ready else False
            except EOFError:
                message = False
            if isinstance(message, Outcome):
                task.rows.pop(0)
                yield message
                continue
            del active[connection]
            how = end()
            if message is False:  # there was no last word
                row = task.rows.pop(0)
                yield Outcome(task.model.name, row.name, problem=how)
                if task.rows:
                    waiting.append(task)


def _start(task: Task) -> tuple[Connection, Callable[[], str]]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_work, args=(task.model, tuple(task.rows), task.emulate, theirs))
    process.start()
    theirs.close()
    task.since = time.monotonic()

    def end() -> str:
        process.join(1)
        hangs = process.is_alive()
        process.kill()
        process.join()
        ours.close()
        code = process.exitcode
        return f"no end in {_PATIENCE:.0f} s" if hangs else f"the process died with code {code}"

    return ours, end


def _work(model: Model, rows: Sequence[Row], emulate: bool, answers: Connection) -> None:
    for kind, most in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CORE, 0)):
        known = resource.getrlimit(kind)[1]
        limit = most if known == resource.RLIM_INFINITY else min(most, known)
        resource.setrlimit(kind, (limit, known))
    loaded = model.load()
    for row in rows if loaded is not None else ():
        assert loaded is not None
        answers.send(try_target(model, loaded, row, emulate=emulate))
    answers.send(None)
