"""Fits the cost model of convolutions in AMX's tiles to times of this machine.

python -m benchmarks.fit_tiles

It times single layers of published networks on one core, in vectors and in every way in tiles. It
prints the model's constants, the errors of its estimates, and how much slower its choices are than
the best ones. All this is printed for the constants in use
(legalize/kernels/conv2d/x86/amx/cost.py), and for the constants that fit best here. It takes some
minutes, and needs a processor with AMX.
"""

from collections.abc import Sequence
from typing import Any

import click
import numpy as np
import tvm
from rich.console import Console
from rich.progress import track

from benchmarks.machine import setting
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, terminal
from benchmarks.tiles.fit import VECTORS, Layer, Model, errors, fit, regret
from benchmarks.tiles.layers import layers, name_of, ways
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.cost import NANOSECONDS, VECTOR_UNIT, Terms, terms
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.plan import Plan
from legalize.kernels.conv2d.x86.tiling import units
from legalize.kernels.isa.targets import has_feature
from legalize.kernels.isa.x86 import AVX512_VNNI
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from tvm_qnn.target.target import host_target
from tvm_qnn.timing import one_core

_REPEATS = 15
_LEAST_MILLISECONDS = 2


def measure(spec: ConvSpec, target: tvm.target.Target, repeats: int = _REPEATS) -> Layer:
    """Time a layer in vectors and in tiles."""
    in_vectors = dot_plan(spec, AVX512_VNNI)
    in_tiles = ways(spec)
    plans: dict[str, Plan] = {VECTORS: in_vectors, **in_tiles}
    evaluators = {way: _evaluator(plan, target, repeats) for way, plan in plans.items()}
    return Layer(
        name_of(spec),
        units(spec, in_vectors.products),
        {way: terms(plan) for way, plan in in_tiles.items()},
        {way: 1e9 * float(np.median(evaluator().results)) for way, evaluator in evaluators.items()},
    )


def _evaluator(plan: Plan, target: tvm.target.Target, repeats: int) -> Any:
    """Compile a plan with random weights; return the evaluator that times its function."""
    spec = plan.spec
    rng = np.random.default_rng(0)
    shape = (spec.out_channels, spec.kernel_height, spec.kernel_width, spec.in_channels)
    info = np.iinfo(spec.kernel_dtype)
    kernel = rng.integers(info.min, info.max, shape, spec.kernel_dtype, endpoint=True)
    zero_point = 117 if spec.has_asymmetric_kernel else 0
    depth = np.prod(shape[1:])
    scales = quantize_multiplier(rng.uniform(0.5, 1, spec.out_channels) / (100 * np.sqrt(depth)))
    packed = plan.pack(Weights(kernel, zero_point, None, *scales))
    function = plan.function(packed)
    arrays = [_bytes(rng, spec.staged_shape), *packed.constants]
    if spec.fusion.residual is not None:
        arrays.append(_bytes(rng, spec.out_shape))
    arrays.append(np.zeros(spec.target_shape, spec.stored.dtype))
    library = tvm.compile(function, target=target)
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    time = library.mod.time_evaluator(
        function.attrs["global_symbol"],
        tvm.cpu(),
        number=1,
        repeat=repeats,
        min_repeat_ms=_LEAST_MILLISECONDS,
    )
    return lambda: time(*tensors)


def _bytes(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    return rng.integers(0, 256, shape, np.uint8)


def report(measured: Sequence[Layer], console: Console) -> None:
    """Print constants, errors and regrets of the model in use, and of the best fit."""
    models = {"as it is": Model(NANOSECONDS, VECTOR_UNIT), "fitted": fit(measured)}
    rows = [
        [name, *(f"{getattr(model.terms, name):.3g}" for model in models.values())]
        for name in Terms._fields
    ]
    rows.append(["unit in vectors", *(f"{model.unit:.3g}" for model in models.values())])
    console.print(as_table(["nanoseconds for each", *models], rows, "Constants"))
    rows = []
    for name, model in models.items():
        for of_tiles in (True, False):
            found = errors(model, measured, of_tiles=of_tiles)
            what = "tiles" if of_tiles else "vectors"
            shares = [f"{found.rms:.2f}", f"{found.median:.0%}", f"{found.nine_tenths:.0%}"]
            rows.append([f"{what}, {name}", *shares])
    head = ["estimates", "rms of log", "median", "nine tenths"]
    console.print(as_table(head, rows, "Errors"))
    rows = []
    for name, model in models.items():
        cost = regret(model, measured)
        rows.append([name, str(cost.off), f"{cost.lost:.1%}", str(cost.slower)])
    head = [f"choices of {len(measured)}", "10 % off the best", "time lost", "5 % behind vectors"]
    console.print(as_table(head, rows, "Regret"))


@click.command(help=__doc__)
def main() -> None:
    """Measure, fit and print."""
    target = host_target()
    if not has_feature(target, "amx-int8"):
        raise click.ClickException(
            f"the model is of AMX's tiles, which this processor has not: {target.attrs['mcpu']}"
        )
    console = terminal()
    for line in setting_lines(setting(("tvm-qnn", "apache-tvm")), 1):
        console.print(line)
    with one_core():
        measured = [measure(spec, target) for spec in track([*layers()], console=console)]
    report(measured, console)


if __name__ == "__main__":
    main()
