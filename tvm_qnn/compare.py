"""Comparison of a model, tensor by tensor, with what TFLite's reference kernels compute."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from frontends.tflite import from_tflite
from frontends.tflite.custom_options import DetectionPostProcessOptions
from frontends.tflite.model import Model
from frontends.tflite.reader import read_model
from tvm_qnn.build import build
from tvm_qnn.oracle import litert_runs
from tvm_qnn.target.target import runnable_target

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TensorComparison:
    """One tensor, as computed here and by LiteRT.

    Attributes:
        index: the tensor's number in the file.
        name: the tensor's name.
        operator: the operator that computes it, for instance "CONV_2D".
        elements: how many elements it has.
        differing: how many of them differ; all of them if the shapes or dtypes do.
        worst: the largest difference, in steps of a quantized tensor; infinite for a difference
            of shape or dtype, or if one side is not a number.
        steps: of an integer tensor: how many elements are so many steps too large (negative:
            too small), by that number; without those that are equal.
    """

    index: int
    name: str
    operator: str
    elements: int
    differing: int
    worst: float
    steps: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """Every tensor that a model's operators compute, in the order of the operators."""

    tensors: tuple[TensorComparison, ...]

    @property
    def differing(self) -> tuple[TensorComparison, ...]:
        """The tensors that are not equal, element by element."""
        return tuple(tensor for tensor in self.tensors if tensor.differing)

    @property
    def is_equal(self) -> bool:
        """Whether every element of every tensor is equal."""
        return not self.differing

    @property
    def elements(self) -> int:
        """The number of elements that were compared."""
        return sum(tensor.elements for tensor in self.tensors)


def compare(
    model: bytes | str | os.PathLike[str],
    inputs: Sequence[Array],
    target: str | Mapping[str, Any] | tvm.target.Target = "host",
    kernels: bool = True,
    expected: Mapping[int, Array] | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    then: Sequence[Sequence[Array]] = (),
) -> Comparison:
    """Run a TFLite model here and on LiteRT's reference kernels, and compare all tensors.

    Every tensor that an operator computes becomes an output, so operators are not fused across
    one another as they are in a library built for use; the arithmetic is the same. LiteRT's
    reference SOFTMAX aborts the process when 512 or more logits are nearly equal.

    Args:
        model: the contents of a .tflite file, or its path.
        inputs: one array for each input of the model, in the model's order.
        target: of the compilation, as ``tvm_qnn.build`` takes it; this machine must run it.
        kernels: use the hand-written kernels of the target, or only the portable primitives.
        expected: what ``litert_tensors`` gives for this model and these inputs, if the caller
            has it already.
        shape_dict: shapes of inputs by name, where they are not the file's, as ``from_tflite``
            takes them.
        then: the inputs of further runs, for a model that keeps something from one to the next:
            all tensors of all runs are compared. Not together with ``expected``.

    Raises:
        QnnError: if the model cannot be imported, LiteRT is missing or rejects it, an input does
            not fit, or this machine cannot run the target's code.
        OSError: if the path cannot be read.
    """
    content = model if isinstance(model, bytes) else Path(model).read_bytes()
    graph = read_model(content)
    mod, params = from_tflite(graph, shape_dict, outputs="all")
    parsed = runnable_target(target)
    runs = [inputs, *then]
    # First: it is refused at once what LiteRT refuses.
    answers = (
        [*litert_runs(content, runs, resize=bool(shape_dict))] if expected is None else [expected]
    )
    library = build(mod, parsed, params, kernels=kernels)
    codes = {index: each.code for each in graph.operators for index in each.outputs}
    found = []
    for given, answer in zip(runs, answers, strict=True):
        known = _without_leftovers(graph, answer)
        results = library.run(*given)
        arrays = results.values() if isinstance(results, dict) else [results]
        parts = zip(graph.computed, library.outputs, arrays, strict=True)
        found += [
            _compare(index, info.name, codes[index], array, known[index])
            for index, info, array in parts
            if index in known
        ]
    return Comparison(tuple(found))


def _without_leftovers(graph: Model, expected: Mapping[int, Array]) -> dict[int, Array]:
    """Put zeros where LiteRT leaves what memory held: behind the boxes that a detector found."""
    known = dict(expected)
    for operator in graph.operators:
        options = operator.options
        if isinstance(options, DetectionPostProcessOptions) and not options.use_regular_nms:
            found = int(known[operator.outputs[3]][0]) * options.max_classes_per_detection
            given = min(options.max_classes_per_detection, options.num_classes)
            for index in operator.outputs[:3]:
                known[index] = array = known[index].copy()
                array[:, found:] = 0
                for rest in range(given, options.max_classes_per_detection):
                    array[:, rest :: options.max_classes_per_detection] = 0
    return known


def _compare(index: int, name: str, operator: str, ours: Array, theirs: Array) -> TensorComparison:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return TensorComparison(index, name, operator, theirs.size, theirs.size, float("inf"))
    both_nan = (ours != ours) & (theirs != theirs)
    unequal = (ours != theirs) & ~both_nan
    # float64 holds every difference of the dtypes that matter; NaN counts as infinitely far.
    gap = ours[unequal].astype(np.float64) - theirs[unequal].astype(np.float64)
    worst = float(np.max(np.nan_to_num(np.abs(gap), nan=np.inf), initial=0.0))
    steps: dict[int, int] = {}
    if theirs.dtype.kind in "iu":
        values, counts = np.unique(gap.astype(np.int64), return_counts=True)
        steps = dict(zip(values.tolist(), counts.tolist(), strict=True))
    return TensorComparison(index, name, operator, theirs.size, gap.size, worst, steps)
