"""Starts a peer's processes and talks to them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tvm_qnn.io.closing import Closing

ROOT = Path(__file__).resolve().parent.parent

Array = np.ndarray[Any, Any]


class PeerError(Exception):
    """Raised if a peer fails; the message is the last line that the peer printed."""


@dataclass(frozen=True)
class Conditions:
    """The conditions that are the same for every peer.

    Attributes:
        threads: the most threads of each peer.
        without_amx: whether to refuse the peers the use of AMX.
        clock: "wall", or "cpu" for the CPU time of a program.
    """

    threads: int = 1
    without_amx: bool = False
    clock: str = "wall"

    def cores(self) -> list[int]:
        """Return the cores to run on, one per thread; none if processes cannot be bound."""
        if not hasattr(os, "sched_getaffinity"):
            return []
        return sorted(os.sched_getaffinity(0))[: self.threads]

    def order(self, peer: str, do: str) -> dict[str, Any]:
        """Return the fields that every order has."""
        return {
            "peer": peer,
            "do": do,
            "cores": self.cores(),
            "threads": self.threads,
            "without_amx": self.without_amx,
            "clock": self.clock,
        }


@dataclass(frozen=True)
class Compiled:
    """The file that a peer made from a model before its runs, and the time that this took.

    Attributes:
        file: the file that the peer loads; the .tflite file itself, if it makes none.
        import_seconds: time to import the packages that make the file.
        seconds: time to make the file.
        megabytes: the file's size.
    """

    file: str
    import_seconds: float
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Built:
    """The time that a peer takes from a model to code that is ready to run.

    Attributes:
        seconds: wall time.
        processor_seconds: CPU time of all cores, including linkers and similar programs.
    """

    seconds: float
    processor_seconds: float


@dataclass(frozen=True)
class Loaded:
    """The figures of a peer that has loaded a model and run it.

    Attributes:
        import_seconds: time to import the packages that run the model.
        first_result_seconds: time from the end of the imports to the first result.
        peak_megabytes: the most memory of its process, after a few runs; None if the system does
            not report it.
        uses_amx: whether its process asked for AMX and got it.
        version: the version of its package.
    """

    import_seconds: float
    first_result_seconds: float
    peak_megabytes: float | None
    uses_amx: bool
    version: str


def compile_model(
    peer: str,
    model: Path,
    folder: Path,
    threads: int | None = None,
    *,
    without_amx: bool = False,
) -> Compiled:
    """Make a peer build the file that it loads, in a process of its own.

    Args:
        peer: its key in ``PEERS``.
        model: the .tflite file.
        folder: where to put files.
        threads: number of cores; by default all cores.
        without_amx: whether to refuse the peer the use of AMX; the file then needs no AMX.

    Raises:
        PeerError: it cannot.
    """
    order = Conditions(threads or os.cpu_count() or 1, without_amx).order(peer, "compile")
    with _Process(order["threads"]) as process:
        answer = process.ask({**order, "model": str(model), "folder": str(folder)})
    return Compiled(**answer)


def convert_model(peer: str, model: Path, folder: Path) -> Path:
    """Make a peer convert a model for ``build_model``, in a process of its own.

    Raises:
        PeerError: it cannot.
    """
    order = Conditions().order(peer, "convert")
    with _Process(order["threads"]) as process:
        return Path(process.ask({**order, "model": str(model), "folder": str(folder)}))


def build_model(peer: str, file: Path, threads: int, store: Path) -> Built:
    """Make a peer build code that is ready to run, in a process of its own.

    Args:
        peer: its key in ``PEERS``.
        file: the file that ``convert_model`` made.
        threads: number of cores.
        store: the folder of tvm-qnn's cache of builds; an empty folder makes a cold build.

    Raises:
        PeerError: it cannot.
    """
    order = Conditions(threads).order(peer, "build")
    with _Process(threads, TVM_QNN_CACHE=str(store)) as process:
        return Built(**process.ask({**order, "file": str(file)}))


class Running(Closing):
    """A peer with a model loaded, in a process of its own; use it as a context."""

    def __init__(
        self, peer: str, file: str, inputs: Path, folder: Path, conditions: Conditions
    ) -> None:
        """Start the process, and run the model once.

        Args:
            peer: its key in ``PEERS``.
            file: the file that ``compile_model`` made.
            inputs: an .npz file of the inputs, in order.
            folder: where to put files.
            conditions: the conditions of its runs.

        Raises:
            PeerError: it cannot.
        """
        self._outputs = folder / f"outputs_{peer}.npz"
        self._process = _Process(conditions.threads)
        order = {"file": file, "inputs": str(inputs), "outputs": str(self._outputs)}
        try:
            answer = self._process.ask({**conditions.order(peer, "load"), **order})
        except PeerError:
            self._process.close()
            raise
        self.loaded = Loaded(**answer)

    def outputs(self) -> list[Array]:
        """Return the model's outputs."""
        with np.load(self._outputs) as arrays:
            return [arrays[name] for name in arrays.files]

    def time(self, warmup: int, count: int) -> list[float]:
        """Measure the seconds of each of ``count`` runs, after ``warmup`` others.

        Raises:
            PeerError: the process has ended.
        """
        seconds: list[float] = self._process.ask({"warmup": warmup, "count": count})
        return seconds

    def close(self) -> None:
        """End the process."""
        self._process.close()


def save_inputs(folder: Path, inputs: Sequence[Array]) -> Path:
    """Write the arrays for the processes to read."""
    path = folder / "inputs.npz"
    np.savez(path, *inputs)
    return path


class _Process(Closing):
    def __init__(self, threads: int, **environment: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            # This variable sets the number of threads of TVM's pool.
            env={
                **os.environ,
                "TVM_NUM_THREADS": str(threads),
                "OMP_NUM_THREADS": str(threads),
                **environment,
            },
        )

    def ask(self, order: dict[str, Any]) -> Any:
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        try:
            self._popen.stdin.write(json.dumps(order) + "\n")
            self._popen.stdin.flush()
        except BrokenPipeError:
            pass  # then there is no answer either
        answer = self._popen.stdout.readline()
        if not answer:
            raise PeerError(self._last_words())
        return json.loads(answer)

    def close(self) -> None:
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._popen.stdin.close()
        try:
            self._popen.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._popen.stdout.close()
        self._errors.close()

    def _last_words(self) -> str:
        code = self._popen.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        reason = lines[-1].strip() if lines else "it said nothing"
        return f"killed by signal {-code}: {reason}" if code < 0 else reason
