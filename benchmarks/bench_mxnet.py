"""Compares tvm-qnn with MXNet on quantized networks of Gluon's zoo, and times both.

``make mxnet`` sets up an environment for it and runs it. On one core, both in turn::

    .venv-mxnet/bin/python -m benchmarks.bench_mxnet              # all networks
    .venv-mxnet/bin/python -m benchmarks.bench_mxnet inceptionv3

The answers must equal MXNet's answers on a processor with VNNI, bit for bit. Without VNNI, the
timed kernels of oneDNN sum some products in 16 bits, which saturate. The table then also counts how
many of their answers are exact, and the exact answers come from oneDNN's reference code.
`benchmarks.mxnet_zoo.sums` explains the comparison for residual networks.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# This comes before the import of MXNet, whose threads then run on the process's cores.
CORE = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})
os.environ["OMP_NUM_THREADS"] = "1"

import click  # noqa: E402
import numpy as np  # noqa: E402

import tvm_qnn as qnn  # noqa: E402
from benchmarks.machine import setting  # noqa: E402
from benchmarks.mxnet_zoo.answers import exact_answers, load  # noqa: E402
from benchmarks.mxnet_zoo.networks import NETWORKS, quantize  # noqa: E402
from benchmarks.mxnet_zoo.sums import has_sums, rounded_apart  # noqa: E402
from benchmarks.race_report import CLOCK_NOTES  # noqa: E402
from benchmarks.worker import CLOCKS  # noqa: E402
from frontends.mxnet import from_mxnet  # noqa: E402
from tvm_qnn.io.outputs import write_text  # noqa: E402
from tvm_qnn.target.processor import extensions_here  # noqa: E402
from tvm_qnn.timing import Timing, alternate  # noqa: E402

Array = np.ndarray[Any, Any]

HAS_VNNI = bool(extensions_here(("avx512vnni", "avxvnni")))

HEADER = (
    "| network | input | equal to MXNet | best answer | MXNet's own kernels here | MXNet, ms "
    "| tvm-qnn, ms | ratio | build, s |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|"
)


@dataclass(frozen=True)
class Result:
    """The result for one network.

    Attributes:
        network: the network's name.
        shape: the shape of an input.
        answers: tvm-qnn's answers, rounded like MXNet's exact ones.
        exact: MXNet's exact answers; None if they could not be computed.
        is_apart: whether the exact answers round products and sums separately.
        native: MXNet's answers from the timed kernels.
        times: MXNet's and tvm-qnn's times.
        build: seconds to import and compile.
    """

    network: str
    shape: tuple[int, ...]
    answers: Array
    exact: Array | None
    is_apart: bool
    native: Array
    times: dict[str, Timing]
    build: float

    @property
    def passed(self) -> bool:
        """Whether the answers are right."""
        if self.exact is None:
            return bool((_best(self.answers) == _best(self.native)).all())
        return np.array_equal(self.answers, self.exact)

    def row(self) -> str:
        """Return a line of the table."""
        reference = self.native if self.exact is None else self.exact
        same = _best(self.answers) == _best(reference)
        own = self.answers if self.exact is None else self.exact
        equal = "–" if self.exact is None else _equal(self.answers, self.exact)
        equal += " (sums rounded apart)" if self.is_apart else ""
        theirs, ours = (self.times[name].median for name in ("mxnet", "tvm-qnn"))
        cells = [
            self.network,
            "×".join(map(str, self.shape)),
            equal,
            f"{same.sum()} of {same.size}",
            _equal(self.native, own),
            f"{1e3 * theirs:.2f}",
            f"{1e3 * ours:.2f}",
            f"{ours / theirs:.2f}",
            f"{self.build:.1f}",
        ]
        return f"| {' | '.join(cells)} |"


def _best(answers: Array) -> Array:
    result: Array = answers.reshape(len(answers), -1).argmax(1)
    return result


def _equal(answers: Array, others: Array) -> str:
    """Return the number of equal elements, and of all elements, as text."""
    return f"{(answers == others).sum():,} of {answers.size:,}"


def measure(network: str, folder: Path, rounds: int, clock: str) -> Result:
    """Quantize a network with MXNet, import it, and compare both."""
    prefix = folder / network
    inputs = quantize(network, prefix)
    theirs = load(prefix, inputs[0].shape)
    start = time.perf_counter()
    mod, params = from_mxnet(
        f"{prefix}-symbol.json", inputs[0].shape, arg_params=f"{prefix}-0000.params"
    )
    library = qnn.build(mod, "host", params, num_threads=1)
    build = time.perf_counter() - start
    native = np.stack([theirs(data)[0] for data in inputs])
    exact = native if HAS_VNNI else _exact(prefix, inputs)
    is_apart = not HAS_VNNI and exact is not None and has_sums(prefix)
    run = rounded_apart(mod, params, inputs) if is_apart else map(library.run, inputs)
    return Result(
        network,
        inputs[0].shape,
        np.stack(list(run)),
        exact,
        is_apart,
        native,
        alternate(
            {"mxnet": lambda: theirs(inputs[0]), "tvm-qnn": lambda: library.run(inputs[0])},
            rounds=rounds,
            clock=CLOCKS[clock],
        ),
        build,
    )


def _exact(prefix: Path, inputs: Sequence[Array]) -> Array | None:
    try:
        return np.stack(
            [outputs[0] for outputs in exact_answers([(prefix, data) for data in inputs])]
        )
    except FileNotFoundError as error:
        print(f"only the best answers are compared: {error}", file=sys.stderr)
        return None


@click.command()
@click.argument("networks", metavar="[NETWORK]...", nargs=-1, type=click.Choice(list(NETWORKS)))
@click.option("--rounds", default=20, show_default=True, type=click.IntRange(min=3))
@click.option(
    "--clock",
    default="wall",
    show_default=True,
    type=click.Choice(list(CLOCKS)),
    help="cpu: the processor's time that a program gets, where others take some of it.",
)
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for mxnet.md.",
)
def main(networks: tuple[str, ...], rounds: int, clock: str, output: Path) -> None:
    """Compare tvm-qnn with MXNet on NETWORKs of Gluon's zoo."""
    lines = [*setting(("tvm-qnn", "apache-tvm", "mxnet", "numpy")).lines()]
    lines += ["", f"Milliseconds{CLOCK_NOTES[clock]}: medians, in turn.", "", HEADER]
    print("\n".join(lines))
    failed = []
    for network in networks or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(network, Path(folder), rounds, clock)
        lines.append(result.row())
        print(lines[-1], flush=True)
        if not result.passed:
            failed.append(network)
    output.mkdir(parents=True, exist_ok=True)
    write_text(output / "mxnet.md", "\n".join(lines) + "\n")
    if failed:
        sys.exit(f"not what MXNet computes: {', '.join(failed)}")


if __name__ == "__main__":
    main()
