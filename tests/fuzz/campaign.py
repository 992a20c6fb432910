"""Runs an importer on damaged models in a process of its own, and records all faults.

A model under a megabyte has two seconds of the processor's time and 512 MB of memory beyond what
the importer itself takes; a process that dies, hangs or takes more has found something.
"""

import signal
import time
import traceback
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from tests.fuzz.importers import IMPORTERS, Files
from tests.support.children import Death, answers, room

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
        seeds = range(first_seed + tried, first_seed + min(tried + _BATCH, most))
        for answer in answers(partial(_try, importer), seeds, _PATIENCE, room(MEGABYTES)):
            if isinstance(answer, bool):
                refused += answer
            else:
                what = answer.reason if isinstance(answer, Death) else answer
                seed = first_seed + tried
                findings.append(Finding(seed, what, model_of(importer, seed)))
            tried += 1
            if not isinstance(answer, bool) or time.monotonic() >= end:
                break  # what had an error may have kept memory
    return Result(tried, refused, tuple(findings))


def _try(importer: str, seed: int) -> bool | str:
    files = model_of(importer, seed)
    start = time.process_time()
    signal.signal(signal.SIGVTALRM, _too_long)
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
