"""Work in child processes, which may die, hang or take too much memory."""

import contextlib
import faulthandler
import multiprocessing
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Death:
    """The end of a process that gave no answer.

    Attributes:
        reason: in words.
    """

    reason: str


def answers(
    work: Callable[[_T], _R], items: Sequence[_T], seconds: float, memory: int | None = None
) -> Iterator[_R | Death]:
    """Yield the result of ``work`` for each item, in order, in a process replaced when it dies.

    Args:
        work: raises nothing.
        items: the items.
        seconds: for one of them, by the clock.
        memory: bytes of address space that a process may have; None for what this one may.
    """
    done = 0
    while done < len(items):
        receiving, sending = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_work, args=(work, items[done:], memory, sending))
        process.start()
        sending.close()
        try:
            while done < len(items):
                if not receiving.poll(seconds):
                    process.kill()
                    yield Death("it hangs")
                    done += 1
                    break
                yield receiving.recv()
                done += 1
        except EOFError:
            process.join()
            yield Death(f"the process died with code {process.exitcode}")
            done += 1
        finally:
            process.kill()
            process.join()
            receiving.close()


def _work(
    work: Callable[[_T], _R], items: Sequence[_T], memory: int | None, sending: Connection
) -> None:
    faulthandler.disable()  # pytest's would tell of each death
    if memory is not None:
        _limit(resource.RLIMIT_AS, memory)
        _limit(resource.RLIMIT_CORE, 0)
    for item in items:
        sending.send(work(item))


def _limit(kind: int, most: int) -> None:
    known = resource.getrlimit(kind)[1]
    limit = most if known == resource.RLIM_INFINITY else min(most, known)
    resource.setrlimit(kind, (limit, known))


def room(megabytes: int) -> int:
    """Return the address space of a process that may take so many megabytes more than this one."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    return pages * resource.getpagesize() + (megabytes << 20)


@contextlib.contextmanager
def without_stderr() -> Iterator[None]:
    """Silence LiteRT's output about refusals there; its error says the same."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
