"""Processes that run the streams of other programs.

Such a process prints a line when it is ready. Then, for each number of seconds on its input, it
prints its runs in a second. So no program disturbs another, and if one ends, the error says why.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.throughput.rates import Streams

_READY = "ready"


class Processes(Streams):
    """Some processes of one program."""

    def __init__(self, module: str, arguments: Sequence[str | Path | int], count: int) -> None:
        """Start the processes.

        Args:
            module: the module that they run, which calls ``serve``.
            arguments: the arguments of each.
            count: the number of processes.

        Raises:
            QnnError: if one ends before it is ready; the message says why.
        """
        words = [sys.executable, "-m", module, *map(str, arguments)]
        pipe = subprocess.PIPE
        self._processes = [
            subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
            for _ in range(count)
        ]
        try:
            for process in self._processes:
                self._read(process)
        except QnnError:
            self.close()
            raise

    def runs_per_second(self, seconds: float) -> float:
        """Let all processes run for some seconds, and return their runs in a second together."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        return sum(float(self._read(process)) for process in self._processes)

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            if process.stdin is not None and not process.stdin.closed:
                process.communicate()

    def _read(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        if line := process.stdout.readline():
            return line
        _, said = process.communicate()
        reason = (said.strip().splitlines() or [f"it ended with {process.returncode}"])[-1]
        raise QnnError(reason.removeprefix("qnn_ops.errors.QnnError: "))


def serve(runs_per_second: Callable[[float], float]) -> None:
    """Report that this process is ready, and run on request."""
    print(_READY, flush=True)
    for line in sys.stdin:
        print(runs_per_second(float(line)), flush=True)
