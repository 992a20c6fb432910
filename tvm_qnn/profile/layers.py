"""Profiles a model: measures the time of each operator in a run."""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from frontends.formats import read_model
from frontends.summary import OperatorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.build import build
from tvm_qnn.io.images import noise
from tvm_qnn.library.watch import WARMUP, Call, functions_apart, watch
from tvm_qnn.profile.lowered import LAST_PASS, KeptModule, assign, functions_on_tiles, lowered_calls
from tvm_qnn.profile.peak import TILES, VECTORS, measure_peaks
from tvm_qnn.target.target import TargetLike, runnable_target
from tvm_qnn.timing import one_core


@dataclass(frozen=True)
class Layer:
    """A part of a run with a time of its own.

    Attributes:
        name: the name of the operator's first output in the file; the function's name if it does
            not belong to a single operator.
        code: the operator's kind, as "CONV_2D"; empty without an operator.
        shape: the shape of the operator's first output.
        functions: the functions that ran for it, in order.
        seconds: the time of these functions together.
        operations: the operator's products and additions.
        peak: the processor's measured peak, in operations per second, for the instruction with
            which these functions multiply; None if it is unknown for the target.
    """

    name: str
    code: str
    shape: tuple[int, ...]
    functions: tuple[str, ...]
    seconds: float
    operations: int
    peak: float | None = None

    @property
    def speed(self) -> float:
        """Operations per second."""
        return self.operations / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Profile:
    """The times of a run's layers on one thread of this machine.

    Attributes:
        layers: in the order of a run.
        seconds: the processor's time of a whole run that is not watched.
        operations: the products and additions of the whole model.
        peaks: the processor's measured peaks in operations per second, by the name of the
            instruction; only those with which the layers multiply.
    """

    layers: tuple[Layer, ...]
    seconds: float
    operations: int
    peaks: Mapping[str, float]

    @property
    def share(self) -> float | None:
        """The speed of a run, divided by the speed of its layers at their peaks."""
        return share_of_peak(self.layers, self.seconds)


def share_of_peak(layers: Sequence[Layer], seconds: float | None = None) -> float | None:
    """Divide the speed of layers by their speed at their peaks; None if a peak is unknown.

    Args:
        layers: some layers of a profile.
        seconds: the time that they take; by default the sum of their measured times.
    """
    working = [layer for layer in layers if layer.operations]
    least = [layer.operations / layer.peak for layer in working if layer.peak]
    spent = sum(layer.seconds for layer in layers) if seconds is None else seconds
    return sum(least) / spent if least and len(least) == len(working) and spent else None


def profile(
    model: Any,
    target: TargetLike = "host",
    repeat: int = 20,
    *,
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    semantics: str | None = None,
) -> Profile:
    """Compile a model, run it on noise, and measure the time of each operator.

    It runs on one thread on one core. Watching makes each function up to a microsecond longer, so
    that the layers of a small model together take longer than ``Profile.seconds``.

    Args:
        model: as ``frontends.formats.read_model`` takes it: a path, a file's contents, an object.
        target: as for ``tvm_qnn.build``; this machine must be able to run its code.
        repeat: the number of runs whose medians are taken.
        params: the file of an MXNet model's parameters; by default the one beside the symbol.
        shapes: shapes of an MXNet model's inputs by name, if the file does not have them.
        semantics: the framework whose results are meant, as for ``from_tflite`` and ``from_mxnet``.

    Raises:
        QnnError: the model or target does not fit.
    """
    if repeat < 1:
        raise QnnError(f"profile: repeat must be at least 1, got {repeat}")
    parsed = runnable_target(target)
    source = read_model(model, params, semantics)
    operators = {info.index: info for info in source.summary("", shapes).operators}
    imported = source.convert(shapes)
    lowered: Any = KeptModule(after=LAST_PASS)
    with functions_apart(lowered):
        library = build(imported.mod, parsed, imported.params, num_threads=1)
    inputs = [noise(info) for info in library.inputs]
    with one_core():
        run = library.prepare(*inputs)
        for _ in range(WARMUP):
            run()
        measured = [measure_peaks(library.target)]
        seconds = statistics.median(_processor_seconds(run) for _ in range(repeat))
        runs = watch(library, inputs, repeat)
        measured.append(measure_peaks(library.target))
    peaks = {name: max(each[name] for each in measured) for name in measured[0]}
    owners = assign([name for name, _ in runs[0]], lowered_calls(lowered.mod, imported.results))
    on_tiles = functions_on_tiles(lowered.mod)
    layers, used = [], set()
    for layer in _layers(operators, runs, owners):
        instruction = VECTORS if on_tiles.isdisjoint(layer.functions) else TILES
        layers.append(replace(layer, peak=peaks.get(instruction)))
        used |= {instruction} if layer.operations else set()
    total = sum(_operations(operator) for operator in operators.values())
    known = {name: peak for name, peak in peaks.items() if name in used}
    return Profile(tuple(layers), seconds, total, known)


def _operations(operator: OperatorInfo) -> int:
    return 2 * operator.macs  # a product and its addition


def _processor_seconds(run: Callable[[], object]) -> float:
    # Not the wall clock: other programs run in between if a whole run takes long.
    start = time.thread_time()
    run()
    return time.thread_time() - start


def _layers(
    operators: Mapping[int, OperatorInfo],
    runs: Sequence[Sequence[Call]],
    owners: Sequence[int | None],
) -> tuple[Layer, ...]:
    seconds = [statistics.median(run[place][1] for run in runs) for place in range(len(runs[0]))]
    # A function that belongs to no operator is a layer of its own.
    groups: dict[tuple[int | None, int], list[int]] = {}
    for place, owner in enumerate(owners):
        groups.setdefault((owner, place if owner is None else 0), []).append(place)
    layers = []
    for (owner, _), places in groups.items():
        functions = tuple(runs[0][place][0] for place in places)
        spent = sum(seconds[place] for place in places)
        if owner is not None:
            operator = operators[owner]
            described = operator.name, operator.code, operator.outputs[0].shape
            layers.append(Layer(*described, functions, spent, _operations(operator)))
        else:
            layers.append(Layer(functions[0], "", (), functions, spent, 0))
    return tuple(layers)
