"""Comparison of a model, tensor by tensor, with what its own framework computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from frontends.formats import format_of
from frontends.onnx import from_onnx
from frontends.onnx.reader import read_proto
from frontends.tflite import from_tflite
from frontends.tflite.custom_options import DetectionPostProcessOptions
from frontends.tflite.model import Model
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from tvm_qnn.build import build
from tvm_qnn.io.html import table
from tvm_qnn.oracle import check_litert, check_onnxruntime, litert_runs, onnxruntime_tensors
from tvm_qnn.target.target import runnable_target

Array = np.ndarray[Any, Any]

_SHOWN = 10  # of the tensors that differ


@dataclass(frozen=True)
class TensorComparison:
    """One tensor, as computed here and by the model's own framework.

    Attributes:
        index: the tensor's number in a TFLite file; of an ONNX model, its node's.
        name: the tensor's name.
        operator: the operator that computes it, for instance "CONV_2D"; of what QuantizeLinear
            gives, the one before it.
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


@dataclass(frozen=True, repr=False)
class Comparison:
    """Every tensor that a model's operators compute, in the order of the operators.

    Attributes:
        tensors: of TFLite models, all; of ONNX models what is quantized, and the outputs.
        reference: what was compared with, as people call it.
    """

    tensors: tuple[TensorComparison, ...]
    reference: str = "LiteRT's reference kernels"

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

    def __repr__(self) -> str:
        equal = len(self.tensors) - len(self.differing)
        said = f"{equal} of {len(self.tensors)} tensors equal those of {self.reference}"
        lines = [f"Comparison: {said}", *map(str, self.differing[:_SHOWN])]
        more = len(self.differing) - _SHOWN
        return "\n  ".join([*lines, *([f"and {more} more"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        title, *_ = repr(self).splitlines()
        heads = ("differing tensor", "operator", "elements", "differing", "worst")
        rows = [(t.name, t.operator, t.elements, t.differing, t.worst) for t in self.differing]
        return table(title, heads, rows)


def compare(
    model: Any,
    inputs: Sequence[Array],
    target: str | Mapping[str, Any] | tvm.target.Target = "host",
    kernels: bool = True,
    expected: Mapping[Any, Array] | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    then: Sequence[Sequence[Array]] = (),
) -> Comparison:
    """Run a model here and on its own framework, and compare all tensors.

    A TFLite model on LiteRT's reference kernels, an ONNX model on ONNX Runtime with the settings
    of ``onnxruntime_tensors``. What is compared becomes an output, so operators are not fused
    across one another as they are in a library built for use; the arithmetic is the same. LiteRT's
    reference SOFTMAX aborts the process when 512 or more logits are nearly equal.

    Args:
        model: the contents of a .tflite or .onnx file, its path, or an ``onnx.ModelProto``.
        inputs: one array for each input of the model, in the model's order.
        target: of the compilation, as ``tvm_qnn.build`` takes it; this machine must run it.
        kernels: use the hand-written kernels of the target, or only the portable primitives.
        expected: what ``litert_tensors`` or ``onnxruntime_tensors`` gives for this model and these
            inputs, if the caller has it already.
        shape_dict: shapes of inputs by name, where they are not the file's, as ``from_tflite``
            takes them.
        then: the inputs of further runs, for a model that keeps something from one to the next:
            all tensors of all runs are compared. Not together with ``expected``.

    Raises:
        QnnError: if the model cannot be imported or is of another format, its framework is missing
            or rejects it, an input does not fit, or this machine cannot run the target's code.
        OSError: if the path cannot be read.
    """
    reference = reference_of(model)
    parsed = runnable_target(target)
    runs = [inputs, *then]
    # First: it is refused at once what the framework refuses.
    computed = reference.compute(model, runs, shape_dict, expected)
    library = build(computed.mod, parsed, computed.params, kernels=kernels)
    found = []
    for given, answer in zip(runs, computed.answers, strict=True):
        results = library.run(*given)
        arrays = results.values() if isinstance(results, dict) else [results]
        parts = zip(computed.tensors, library.outputs, arrays, strict=True)
        found += [
            _compare(index, info.name, operator, array, answer[key])
            for (key, index, operator), info, array in parts
            if key in answer
        ]
    return Comparison(tuple(found), reference.title)


@dataclass(frozen=True)
class _Computed:
    """What is compared.

    Attributes:
        mod: whose outputs are ``tensors``.
        params: of it.
        tensors: key in ``answers``, number and operator of each.
        answers: the framework's tensors of each run.
    """

    mod: tvm.IRModule
    params: Mapping[str, Any]
    tensors: Sequence[tuple[Any, int, str]]
    answers: Sequence[Mapping[Any, Array]]


_Runs = Sequence[Sequence[Array]]
_Compute = Callable[
    [Any, _Runs, "Mapping[str, Sequence[int]] | None", "Mapping[Any, Array] | None"], _Computed
]


def _with_litert(
    model: Any,
    runs: _Runs,
    shape_dict: Mapping[str, Sequence[int]] | None,
    expected: Mapping[Any, Array] | None,
) -> _Computed:
    content = model if isinstance(model, bytes) else Path(model).read_bytes()
    graph = read_model(content)
    mod, params = from_tflite(graph, shape_dict, outputs="all")
    answers = (
        [*litert_runs(content, runs, resize=bool(shape_dict))] if expected is None else [expected]
    )
    codes = {index: each.code for each in graph.operators for index in each.outputs}
    tensors = [(index, index, codes[index]) for index in graph.computed]
    known = [_without_leftovers(graph, answer) for answer in answers]
    return _Computed(mod, params, tensors, known)


def _with_onnxruntime(
    model: Any,
    runs: _Runs,
    shape_dict: Mapping[str, Sequence[int]] | None,
    expected: Mapping[Any, Array] | None,
) -> _Computed:
    proto = read_proto(model)
    mod, params = from_onnx(proto, shape_dict, outputs="all")
    answers = (
        [onnxruntime_tensors(proto, inputs) for inputs in runs] if expected is None else [expected]
    )
    made = {name: number for number, node in enumerate(proto.graph.node) for name in node.output}

    def operator(name: str) -> str:
        node = proto.graph.node[made[name]]
        if node.op_type == "QuantizeLinear" and node.input[0] in made:
            node = proto.graph.node[made[node.input[0]]]
        return str(node.op_type)

    names = [*answers[0]]
    tensors = [(n, made.get(n, -1), operator(n) if n in made else "") for n in names]
    return _Computed(mod, params, tensors, answers)


@dataclass(frozen=True)
class Reference:
    """What a model is compared with.

    Attributes:
        name: as the command line has it.
        format: of the models that it runs.
        title: as people call it.
        check: raises if it is not installed.
        compute: imports a model, and runs it there.
    """

    name: str
    format: str
    title: str
    check: Callable[[], None]
    compute: _Compute


REFERENCES = (
    Reference("litert", "TFLite", "LiteRT's reference kernels", check_litert, _with_litert),
    Reference("onnxruntime", "ONNX", "ONNX Runtime", check_onnxruntime, _with_onnxruntime),
)


def reference_of(model: Any, against: str | None = None) -> Reference:
    """Return what a model is compared with.

    Args:
        model: as for ``compare``.
        against: the name of one of ``REFERENCES``.

    Raises:
        QnnError: if there is none for the model's format, or it is not that one.
        OSError: if the path cannot be read.
    """
    kind = format_of(model).name
    found = next((each for each in REFERENCES if each.format == kind), None)
    if found is None or against not in (None, found.name):
        pairs = " and ".join(f"{each.format} with {each.name}" for each in REFERENCES)
        what = "the model" if isinstance(model, bytes) else str(model)
        raise QnnError(f"{what} is of {kind}: a comparison is of {pairs}")
    return found


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
