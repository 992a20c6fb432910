"""tvm-qnn's streams: threads that share a library."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tvm_qnn.library.library import Library
from tvm_qnn.throughput.rates import WARMUP, Streams, rate


class SharedLibrary(Streams):
    """Threads that share a library and its weights; each has a virtual machine of its own.

    A run does not hold Python's lock, so that the threads run in parallel. Processes were no
    faster.
    """

    def __init__(self, library: Library, inputs: Sequence[np.ndarray], streams: int) -> None:
        """Make the threads.

        Args:
            library: a library that runs on one thread.
            inputs: the inputs of every run.
            streams: the number of threads.
        """
        self._library = library
        self._inputs = inputs
        self._streams = streams
        self._threads = ThreadPoolExecutor(streams, "stream")

    def runs_per_second(self, seconds: float) -> float:
        """Let all threads run for some seconds, and return their runs in a second together."""
        ready = threading.Barrier(self._streams)

        def stream(_number: int) -> float:
            try:
                run = self._library.prepare(*self._inputs)
                for _ in range(WARMUP):
                    run()
            except BaseException:
                ready.abort()  # otherwise the others would wait forever
                raise
            ready.wait()
            return rate(run, seconds)

        return sum(self._threads.map(stream, range(self._streams)))

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()
