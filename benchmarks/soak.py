"""A long run of one library: memory must stay flat and results constant.

`python -m benchmarks.soak`, or `… soak library.so`, runs it 100,000 times in several threads, and
closes and loads it again now and then.

The C library keeps separate memory for each thread, which varies by a few MB. With
MALLOC_ARENA_MAX=1 in the environment it does not, so a leak is easier to see.
"""

import hashlib
import math
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from tvm_qnn.io.images import noise
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.library import Library, load
from tvm_qnn.timing import milliseconds

# The share of runs before the first sample: memory of the first runs, such as the threads' stacks
# and pools, is no growth.
_WARMUP = 0.05
_INPUTS = 16
_SAMPLES = 20
_STATUS = Path("/proc/self/statm")
_PAGE = 4096

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Soaked:
    """The results of a long run.

    Attributes:
        runs: the number of runs.
        threads: the number of threads that made them.
        loads: how many times the library was loaded.
        seconds: the time of all runs.
        resident: bytes of memory that the process held, sampled at equal distances; empty if the
            system does not report them.
        differing: runs whose results were not those of the first run on the same input.
    """

    runs: int
    threads: int
    loads: int
    seconds: float
    resident: tuple[int, ...]
    differing: int

    @property
    def growth(self) -> int:
        """Bytes by which the memory of the last sample exceeds that of the first."""
        return self.resident[-1] - self.resident[0] if self.resident else 0

    @property
    def spread(self) -> int:
        """Bytes between the smallest and the largest sample."""
        return max(self.resident) - min(self.resident) if self.resident else 0


def soak(file: Path, runs: int = 100_000, threads: int = 4, loads: int = 10) -> Soaked:
    """Run a library many times, and watch its memory and results.

    Args:
        file: the library.
        runs: the least number of runs; all threads and all inputs get equally many.
        threads: the number of threads that run it at the same time.
        loads: number of parts of the runs; each part loads the library again.
    """
    rounds = math.ceil(runs / (loads * threads * _INPUTS))
    per_sample = max(loads // _SAMPLES, 1)
    resident: list[int] = []
    differing = 0
    expected: list[bytes] | None = None
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for number in range(loads):
            with load(file, num_threads=1) as library:
                inputs = _inputs(library)
                expected = expected or [_digest(library, each) for each in inputs]
                work = (library, inputs, expected)
                for _ in range(rounds):
                    tasks = [pool.submit(_round, *work) for _ in range(threads)]
                    differing += sum(task.result() for task in tasks)
            if number >= loads * _WARMUP and number % per_sample == 0 and _STATUS.is_file():
                resident.append(int(_STATUS.read_text(encoding="ascii").split()[1]) * _PAGE)
    made = loads * rounds * threads * _INPUTS
    seconds = time.perf_counter() - start
    return Soaked(made, threads, loads, seconds, tuple(resident), differing)


def _inputs(library: Library) -> list[list[Array]]:
    return [[noise(info, seed) for info in library.inputs] for seed in range(_INPUTS)]


def _round(library: Library, inputs: list[list[Array]], expected: list[bytes]) -> int:
    """Run on each input; return the number of wrong results."""
    return sum(
        _digest(library, arrays) != right for arrays, right in zip(inputs, expected, strict=True)
    )


def _digest(library: Library, arrays: list[Array]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for output in results_of(library.run(*arrays)):
        digest.update(output.tobytes())
    return digest.digest()


def _small_network(folder: Path) -> Path:
    import tvm_qnn
    from tvm_qnn import digits

    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    path = folder / "digits.so"
    tvm_qnn.build(mod, "host", params).export(path)
    return path


@click.command()
@click.argument("library", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--runs", default=100_000, show_default=True, type=click.IntRange(min=1))
@click.option("--threads", default=4, show_default=True, type=click.IntRange(min=1))
@click.option("--loads", default=100, show_default=True, type=click.IntRange(min=3))
def main(library: Path | None, runs: int, threads: int, loads: int) -> None:
    """Run LIBRARY, or the classifier of digits, many times; fail if a result ever differs."""
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(library or _small_network(Path(folder)), runs, threads, loads)
    mean = milliseconds(found.seconds * found.threads / found.runs)
    console.print(
        f"{found.runs} runs on {found.threads} threads, {found.loads} loads, "
        f"{found.seconds:.0f} s, {mean} ms a run and thread"
    )
    if found.resident:
        console.print(
            f"Memory: {found.resident[0] / 1e6:.1f} MB after the first runs, "
            f"{found.resident[-1] / 1e6:.1f} MB at the end ({found.growth / 1e3:+.0f} kB), "
            f"within {found.spread / 1e3:.0f} kB"
        )
    console.print(f"Results that differ: {found.differing}")
    if found.differing:
        raise click.ClickException("results are not constant")


if __name__ == "__main__":
    main()
