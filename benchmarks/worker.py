"""Runs one program in its own process: `python -m benchmarks.worker`, with orders on its input.

Programs bring thread pools, compilers and copies of the same libraries. In separate processes they
do not disturb each other, and each one's memory can be measured. Orders and answers are JSON, one
per line; `benchmarks.process` sends the orders.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks import amx
from benchmarks.peers import PEERS
from benchmarks.peers.base import Peer, import_all

Fields = dict[str, Any]

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
"""The clocks: wall time, or the CPU time of a program."""


def compile_model(peer: Peer, order: Fields) -> Fields:
    """Make the file that the peer loads; return it and the time that this takes."""
    start = time.perf_counter()
    import_all(peer.compiler_modules)
    imported = time.perf_counter()
    file = peer.compile(Path(order["model"]), Path(order["folder"]))
    return {
        "file": str(file),
        "import_seconds": imported - start,
        "seconds": time.perf_counter() - imported,
        "megabytes": file.stat().st_size / 1e6,
    }


def build_model(peer: Peer, order: Fields) -> Fields:
    """Make the peer build code that is ready to run; return the time that this takes."""
    import_all((*peer.modules, *peer.compiler_modules))
    _bind(order)
    start, processor = time.perf_counter(), _processor_seconds()
    built = peer.build(Path(order["file"]), order["threads"])
    taken = {
        "seconds": time.perf_counter() - start,
        "processor_seconds": _processor_seconds() - processor,
    }
    del built
    return taken


def load_model(peer: Peer, order: Fields) -> tuple[Callable[[], object], Fields]:
    """Load a file and run it once; return the run, the time and the memory that this takes."""
    with np.load(order["inputs"]) as arrays:
        inputs = [np.ascontiguousarray(arrays[name]) for name in arrays.files]
    start = time.perf_counter()
    import_all(peer.modules)
    imported = time.perf_counter()
    _bind(order)
    session = peer.load(Path(order["file"]), order["threads"])
    run = session.prepare(inputs)
    run()
    done = time.perf_counter()
    for _ in range(3):
        run()
    peak = _peak_megabytes()
    np.savez(order["outputs"], *session.outputs())
    return run, {
        "import_seconds": imported - start,
        "first_result_seconds": done - imported,
        "peak_megabytes": peak,
        "uses_amx": amx.in_use(),
        "version": peer.version(),
    }


def time_runs(
    run: Callable[[], object], warmup: int, count: int, clock: Callable[[], float]
) -> list[float]:
    """Measure the seconds of each of ``count`` runs, after ``warmup`` others."""
    for _ in range(warmup):
        run()
    seconds = []
    for _ in range(count):
        start = clock()
        run()
        seconds.append(clock() - start)
    return seconds


def serve(orders: TextIO, answers: TextIO) -> None:
    """Execute the first order; if it loads a model, time runs until there are no more orders."""
    order = json.loads(orders.readline())
    if order["without_amx"]:
        amx.forbid()
    peer = PEERS[order["peer"]]
    if order["do"] == "compile":
        _bind(order)
        _answer(answers, compile_model(peer, order))
        return
    if order["do"] == "convert":
        _answer(answers, str(peer.convert(Path(order["model"]), Path(order["folder"]))))
        return
    if order["do"] == "build":
        _answer(answers, build_model(peer, order))
        return
    clock = CLOCKS[order["clock"]]
    run, loaded = load_model(peer, order)
    _answer(answers, loaded)
    for line in orders:
        turn = json.loads(line)
        seconds = time_runs(run, turn["warmup"], turn["count"], clock)
        _check_bound(order)
        _answer(answers, seconds)


def _bind(order: Fields) -> None:
    """Bind this process to the cores of an order, with the threads that an import has started.

    Call this after the program is imported: an ONNX Runtime that finds one core at import chooses
    other kernels, which take half as long again on a processor with AMX.
    """
    if order["cores"] and hasattr(os, "sched_setaffinity"):
        for task in Path("/proc/self/task").iterdir():
            with suppress(ProcessLookupError):  # a thread that ends in the meantime
                os.sched_setaffinity(int(task.name), order["cores"])


def _check_bound(order: Fields) -> None:
    """Raise if a program has left the cores of its order: its times do not count."""
    if order["cores"] and hasattr(os, "sched_getaffinity"):
        for task in Path("/proc/self/task").iterdir():
            if stray := os.sched_getaffinity(int(task.name)).difference(order["cores"]):
                raise RuntimeError(f"{order['peer']} runs on processors {stray}, too")


def _answer(answers: TextIO, value: object) -> None:
    print(json.dumps(value), file=answers, flush=True)


def _processor_seconds() -> float:
    """Return the CPU seconds of this process, and of the child processes that have ended."""
    return sum(os.times()[:4])


def _peak_megabytes() -> float | None:
    # getrusage does not serve: its peak includes that of the parent process.
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    for line in status.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024 / 1e6
    return None


def main() -> None:
    """Serve; other prints to the standard output go to the standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
