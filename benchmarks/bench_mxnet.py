"""Holds tvm-qnn against MXNet on quantized networks of Gluon's zoo, and times both.

``make mxnet`` sets up an environment for it and runs it. On one core, both in turn::

    .venv-mxnet/bin/python -m benchmarks.bench_mxnet                 # all networks
    .venv-mxnet/bin/python -m benchmarks.bench_mxnet inceptionv3 --exact

On a processor with VNNI the answers must be MXNet's, bit for bit. Without VNNI oneDNN's kernels
saturate, and only the best answers should be the same; ``--exact`` then also runs MXNet in an
emulator of a processor without SSE4.1, on which oneDNN computes what it does with VNNI. That takes
minutes, and needs qemu-user.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Before MXNet is imported, whose threads go where the process may go then.
CORE = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})
os.environ["OMP_NUM_THREADS"] = "1"

import click  # noqa: E402
import numpy as np  # noqa: E402

import tvm_qnn as qnn  # noqa: E402
from benchmarks.machine import setting  # noqa: E402
from benchmarks.mxnet_zoo.answers import emulated, load  # noqa: E402
from benchmarks.mxnet_zoo.networks import NETWORKS, quantize  # noqa: E402
from frontends.mxnet import from_mxnet  # noqa: E402
from tvm_qnn.processor import extensions_here  # noqa: E402
from tvm_qnn.timing import Timing, alternate  # noqa: E402

Array = np.ndarray[Any, Any]

HAS_VNNI = bool(extensions_here(("avx512vnni", "avxvnni")))

HEADER = (
    "| network | exact | best answer | MXNet, ms | tvm-qnn, ms | ratio | build, s |\n"
    "|---|---|---|---:|---:|---:|---:|"
)


@dataclass(frozen=True)
class Result:
    """What came out for one network.

    Attributes:
        network: its name.
        exact: whether the answers were MXNet's bit for bit, input by input; only the first one's
            if MXNet was emulated, empty where its exact answers were not to be had.
        best: on how many the best answer was MXNet's.
        inputs: how many there were.
        times: MXNet's and tvm-qnn's.
        build: seconds to import and compile.
    """

    network: str
    exact: list[bool]
    best: int
    inputs: int
    times: dict[str, Timing]
    build: float

    @property
    def passed(self) -> bool:
        """Whether the answers are what they must be."""
        return all(self.exact) if self.exact else self.best == self.inputs

    def row(self) -> str:
        """A line of the table."""
        exact = f"{sum(self.exact)} of {len(self.exact)}" if self.exact else "–"
        theirs, ours = (self.times[name].median for name in ("mxnet", "tvm-qnn"))
        return (
            f"| {self.network} | {exact} | {self.best} of {self.inputs} | {1e3 * theirs:.2f} "
            f"| {1e3 * ours:.2f} | {ours / theirs:.2f} | {self.build:.1f} |"
        )


def measure(network: str, folder: Path, exact: bool, rounds: int) -> Result:
    """Quantizes a network with MXNet, imports it, and holds both against each other."""
    prefix = folder / network
    inputs = quantize(network, prefix)
    theirs = load(prefix, inputs[0].shape)
    start = time.perf_counter()
    mod, params = from_mxnet(
        f"{prefix}-symbol.json", inputs[0].shape, arg_params=f"{prefix}-0000.params"
    )
    library = qnn.build(mod, "host", params, num_threads=1)
    build = time.perf_counter() - start
    answers = [library.run(data) for data in inputs]
    native = [theirs(data)[0] for data in inputs]
    reference = native if HAS_VNNI else emulated([(prefix, inputs[0])])[0] if exact else []
    return Result(
        network,
        [np.array_equal(*pair) for pair in zip(answers, reference, strict=False)],
        sum(int(a.argmax() == b.argmax()) for a, b in zip(answers, native, strict=True)),
        len(inputs),
        alternate(
            {"mxnet": lambda: theirs(inputs[0]), "tvm-qnn": lambda: library.run(inputs[0])},
            rounds=rounds,
        ),
        build,
    )


@click.command()
@click.argument("networks", metavar="[NETWORK]...", nargs=-1, type=click.Choice(list(NETWORKS)))
@click.option("--exact", is_flag=True, help="Without VNNI: also run MXNet in an emulator.")
@click.option("--rounds", default=20, show_default=True, type=click.IntRange(min=3))
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for mxnet.md.",
)
def main(networks: tuple[str, ...], exact: bool, rounds: int, output: Path) -> None:
    """Compare tvm-qnn with MXNet on NETWORKs of Gluon's zoo."""
    lines = [*setting(("tvm-qnn", "apache-tvm", "mxnet", "numpy")).lines(), "", HEADER]
    print("\n".join(lines))
    failed = []
    for network in networks or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(network, Path(folder), exact, rounds)
        lines.append(result.row())
        print(lines[-1], flush=True)
        if not result.passed:
            failed.append(network)
    output.mkdir(parents=True, exist_ok=True)
    (output / "mxnet.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if failed:
        sys.exit(f"not what MXNet computes: {', '.join(failed)}")


if __name__ == "__main__":
    main()
