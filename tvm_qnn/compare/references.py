"""What models are compared with: their own frameworks, tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from frontends.formats import format_of
from frontends.onnx import from_onnx
from frontends.onnx.read.reader import read_proto
from frontends.tflite import from_tflite
from frontends.tflite.model import Model
from frontends.tflite.options.custom import DetectionPostProcessOptions
from frontends.tflite.reader import read_model
from frontends.torch import from_exported_program
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tvm_qnn.oracle import (
    OnnxRuntimeSession,
    XnnpackSession,
    check_executorch,
    check_litert,
    check_onnxruntime,
    litert_runs,
)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Computed:
    """What is compared.

    Attributes:
        mod: whose outputs are ``tensors``.
        params: of it.
        tensors: key in ``answers``, number and operator of each.
        used: the model as it is imported for use, with its parameters.
        outputs: keys of what that returns; where one is no key in ``answers``, it is an input.
        answers: the framework's tensors of each run, which are computed as they are taken.
        title: as people call what computes them, where that is not ``Reference.title``.
    """

    mod: tvm.IRModule
    params: Mapping[str, Any]
    tensors: Sequence[tuple[Any, int, str]]
    used: tuple[tvm.IRModule, Mapping[str, Any]]
    outputs: Sequence[Any]
    answers: Iterator[Mapping[Any, Array]]
    title: str = ""


_Runs = Iterable[Sequence[Array]]
_Compute = Callable[
    [Any, _Runs, "Mapping[str, Sequence[int]] | None", "Mapping[Any, Array] | None"], Computed
]


def _with_litert(
    model: Any,
    runs: _Runs,
    shape_dict: Mapping[str, Sequence[int]] | None,
    expected: Mapping[Any, Array] | None,
) -> Computed:
    content = model if isinstance(model, bytes) else Path(model).read_bytes()
    graph = read_model(content)
    mod, params = from_tflite(graph, shape_dict, outputs="all")
    answers = (
        litert_runs(content, runs, resize=bool(shape_dict))
        if expected is None
        else iter([dict(expected)])
    )
    codes = {index: each.code for each in graph.operators for index in each.outputs}
    tensors = [(index, index, codes[index]) for index in graph.computed]
    known = (_without_leftovers(graph, answer) for answer in answers)
    is_by_block = any(tensor.blocks for tensor in graph.tensors)  # see litert_tensors
    title = "LiteRT's default kernels" if is_by_block else ""
    used = from_tflite(graph, shape_dict)
    return Computed(mod, params, tensors, used, graph.outputs, known, title)


def _with_onnxruntime(
    model: Any,
    runs: _Runs,
    shape_dict: Mapping[str, Sequence[int]] | None,
    expected: Mapping[Any, Array] | None,
) -> Computed:
    from frontends.onnx.importer import with_all_outputs

    proto = read_proto(model)
    mod, params = from_onnx(proto, shape_dict, outputs="all")
    answers: Iterator[Mapping[Any, Array]]
    if expected is None:
        session = OnnxRuntimeSession(with_all_outputs(proto))
        names = [info.name for info in session.outputs]
        answers = map(session.run, runs)
    else:
        names, answers = [*expected], iter([expected])
    made = {name: number for number, node in enumerate(proto.graph.node) for name in node.output}

    def operator(name: str) -> str:
        node = proto.graph.node[made[name]]
        if node.op_type == "QuantizeLinear" and node.input[0] in made:
            node = proto.graph.node[made[node.input[0]]]
        return str(node.op_type)

    tensors = [(n, made.get(n, -1), operator(n) if n in made else "") for n in names]
    outputs = [value.name for value in proto.graph.output]
    return Computed(mod, params, tensors, from_onnx(proto, shape_dict), outputs, answers)


def _with_xnnpack(
    model: Any,
    runs: _Runs,
    shape_dict: Mapping[str, Sequence[int]] | None,
    expected: Mapping[Any, Array] | None,
) -> Computed:
    """Run a program, of which the delegate gives the outputs alone."""
    mod, params = from_exported_program(model, shape_dict)
    names = [info.name for info in signature_of(mod).outputs]
    answers: Iterator[Mapping[Any, Array]] = iter([dict(expected or {})])
    if expected is None:
        session = XnnpackSession(model)
        answers = (dict(zip(names, session.run(each), strict=True)) for each in runs)
    tensors = [(name, index, "") for index, name in enumerate(names)]
    return Computed(mod, params, tensors, (mod, params), names, answers)


@dataclass(frozen=True)
class Reference:
    """What a model is compared with.

    Attributes:
        name: as the command line has it.
        format: of the models that it runs.
        title: as people call it.
        package: that has it.
        check: raises if it is not installed.
        compute: imports a model, and runs it there.
    """

    name: str
    format: str
    title: str
    package: str
    check: Callable[[], None]
    compute: _Compute


REFERENCES = (
    Reference(
        "litert",
        "TFLite",
        "LiteRT's reference kernels",
        "ai-edge-litert",
        check_litert,
        _with_litert,
    ),
    Reference(
        "onnxruntime", "ONNX", "ONNX Runtime", "onnxruntime", check_onnxruntime, _with_onnxruntime
    ),
    Reference(
        "xnnpack", "PyTorch", "XNNPACK's delegate", "executorch", check_executorch, _with_xnnpack
    ),
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
        pairs = ", ".join(f"{each.format} with {each.name}" for each in REFERENCES)
        what = "the model" if isinstance(model, bytes) else str(model)
        raise QnnError(
            f"{what} is of {kind}: a comparison is of {pairs}, or against another model, a "
            "library or an archive of outputs"
        )
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
