"""Measures the time of each function in a library's run."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm

from tvm_qnn.library import runtime
from tvm_qnn.library.library import Library

Call = tuple[str, float]
"""A function's name and its seconds."""

WARMUP = 3
"""The number of runs before the timed ones."""


def functions_apart(*instruments: Any) -> tvm.transform.PassContext:
    """Return a context for a build whose calls can be watched.

    In it the compiler does not join several calls to one function.
    """
    return tvm.transform.PassContext(
        opt_level=2, disabled_pass=["OneFunction", "OverBatch"], instruments=list(instruments)
    )


def watch(library: Library, inputs: Sequence[np.ndarray], repeat: int) -> list[list[Call]]:
    """Return the calls of each of some runs, in order.

    Watching makes each call up to a microsecond longer.
    """
    machine = library._ready().machine()
    main = machine["run"]
    states = [info.array() for info in library.signature.states]
    tensors = [runtime.tensor(array) for array in (*inputs, *states)]
    calls: list[Call] = []
    start = 0.0

    def note(
        _function: object, name: str, before: bool, _result: object, *_operands: object
    ) -> int:
        nonlocal start
        if before:
            start = time.perf_counter()
        elif not name.startswith("vm."):
            calls.append((name, time.perf_counter() - start))
        return 0  # go on

    machine["set_instrument"](note)
    runs = []
    for _ in range(WARMUP + repeat):
        calls.clear()
        main(*tensors)
        runs.append([*calls])
    return runs[WARMUP:]
