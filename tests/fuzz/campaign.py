"""Runs an importer on damaged models in a process of its own, and records all faults.

A model under a megabyte has two seconds of the processor's time and 512 MB of memory beyond what
the importer itself takes; a process that dies, hangs or takes more has found something.
"""

import multiprocessing
import resource
import signal
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

import numpy as np

from tests.fuzz.importers import IMPORTERS, Files

SECONDS = 2.0
MEGABYTES = 512
_BATCH = 100
_PATIENCE = 60.0  # of the wall's, for a process that does not answer at all


@dataclass(frozen=True)
class Finding:
    """One model that an importer does not take as it should.

    Attributes:
        seed: that makes the model again.
        what: happened, in short.
        files: the model.
    """

    seed: int
    what: str
    files: Files


@dataclass(frozen=True)
class Result:
    """What a campaign came to.

    Attributes:
        tried: how many models.
        refused: how many of them were refused with one of the project's errors; the others were
            imported to a valid module.
        findings: what went wrong.
    """

    tried: int
    refused: int
    findings: tuple[Finding, ...]


def model_of(importer: str, seed: int) -> Files:
    """Return the damaged model of a seed."""
    return IMPORTERS[importer].draw(np.random.default_rng(seed))


def run_campaign(importer: str, seconds: float, first_seed: int = 0, most: int = 1 << 30) -> Result:
    """Try damaged models for a while.

    Args:
        importer: of ``IMPORTERS``.
        seconds: how long.
        first_seed: of the first model; the others follow.
        most: how many models at most.
    """
    end = time.monotonic() + seconds
    tried = refused = 0
    findings: list[Finding] = []
    while tried < most and time.monotonic() < end:
        count = min(_BATCH, most - tried)
        done, batch_refused, what = _run_batch(importer, first_seed + tried, count, end)
        tried += done
        refused += batch_refused
        if what is not None:
            seed = first_seed + tried - 1
            findings.append(Finding(seed, what, model_of(importer, seed)))
    return Result(tried, refused, tuple(findings))


def _run_batch(importer: str, seed: int, count: int, end: float) -> tuple[int, int, str | None]:
    """Count models that were tried and refused; describe the error of the last, if it had one."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(importer, seed, count, end, theirs))
    process.start()
    theirs.close()
    done = refused = 0
    try:
        while True:
            if not ours.poll(_PATIENCE):
                process.kill()
                return done + 1, refused, "it hangs"
            message = ours.recv()
            if message is None:
                return done, refused, None
            done += 1
            if isinstance(message, str):
                return done, refused, message
            refused += message
    except EOFError:
        process.join()
        return done + 1, refused, f"the process died with code {process.exitcode}"
    finally:
        process.join(5)
        process.kill()


def limit_memory() -> None:
    """Leave this process so many megabytes more than it has."""
    used = _status("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (used + (MEGABYTES << 20),) * 2)


def _work(importer: str, seed: int, count: int, end: float, answers: Connection) -> None:
    limit_memory()
    signal.signal(signal.SIGVTALRM, _too_long)
    for number in range(count):
        if time.monotonic() >= end:
            break
        answers.send(_try(importer, seed + number))
    answers.send(None)


def _try(importer: str, seed: int) -> bool | str:
    files = model_of(importer, seed)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, 5 * SECONDS)
    try:
        refused = IMPORTERS[importer].load(files)
    except BaseException as error:  # any error that is not the project's is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = (str(error).strip().splitlines() or [""])[-1]
        return f"{type(error).__name__}: {text[:150]} ({place.filename}:{place.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds = time.process_time() - start
    return refused if seconds < SECONDS else f"it takes {seconds:.1f} s"


def _too_long(_signal: int, _frame: FrameType | None) -> Any:
    raise TimeoutError("it takes too long")


def _status(field: str) -> int:
    """Return a figure of this process, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) << 10
    raise RuntimeError(f"the system does not tell {field}")
