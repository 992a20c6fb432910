"""The frameworks that models are compared with, tensor by tensor."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from tvm_qnn import oracle


@dataclass(frozen=True)
class Computed:
    """A model to compare, and the framework's tensors.

    Attributes:
        mod: the model with all ``tensors`` as outputs.
        params: its parameters.
        tensors: a key of ``answers``, a number and an operator for each tensor.
        used: the model as it is imported for use, with its parameters; `mod` itself if all of its
            tensors are the model's outputs.
        outputs: the keys of the outputs of ``used``. A key that ``answers`` lacks is an input's.
        answers: the framework's tensors of each run; each run is computed when it is read.
        title: the name of the program, if ``Reference.title`` is not its name.
        cleaned: returns an answer without elements that the framework leaves unwritten.
    """

    mod: tvm.IRModule
    params: Mapping[str, Any]
    tensors: Sequence[tuple[Any, int, str]]
    used: tuple[tvm.IRModule, Mapping[str, Any]]
    outputs: Sequence[Any]
    answers: Iterator[Mapping[Any, np.ndarray]]
    title: str = ""
    cleaned: Callable[[Mapping[Any, np.ndarray]], Mapping[Any, np.ndarray]] = dict


_Runs = Iterable[Sequence[np.ndarray]]
_Shapes = Mapping[str, Sequence[int]] | None


def _answers(start: Callable[[], Any], runs: _Runs) -> Iterator[Any]:
    """Start a session when the first answer is read; yield its answers."""
    yield from map(start().run, runs)


def _with_litert(model: Any, runs: _Runs, shape_dict: _Shapes) -> Computed:
    content = model if isinstance(model, bytes) else Path(model).read_bytes()
    graph = read_model(content)
    mod, params = from_tflite(graph, shape_dict, outputs="all")
    answers = oracle.litert_runs(content, runs, resize=bool(shape_dict))
    codes = {index: each.code for each in graph.operators for index in each.outputs}
    tensors = [(index, index, codes[index]) for index in graph.computed]
    cleaned = partial(_without_leftovers, graph)
    is_by_block = any(tensor.blocks for tensor in graph.tensors)  # see litert_tensors
    title = "LiteRT's default kernels" if is_by_block else ""
    has_all = graph.outputs == graph.computed
    used = (mod, params) if has_all else from_tflite(graph, shape_dict)
    return Computed(mod, params, tensors, used, graph.outputs, answers, title, cleaned)


def _with_onnxruntime(model: Any, runs: _Runs, shape_dict: _Shapes) -> Computed:
    from frontends.onnx.importer import with_all_outputs

    proto = read_proto(model)
    mod, params = from_onnx(proto, shape_dict, outputs="all")
    whole = with_all_outputs(proto)
    names = [value.name for value in whole.graph.output]
    answers = _answers(lambda: oracle.OnnxRuntimeSession(whole), runs)
    made = {name: number for number, node in enumerate(proto.graph.node) for name in node.output}

    def operator(name: str) -> str:
        node = proto.graph.node[made[name]]
        if node.op_type == "QuantizeLinear" and node.input[0] in made:
            node = proto.graph.node[made[node.input[0]]]
        return str(node.op_type)

    tensors = [(n, made.get(n, -1), operator(n) if n in made else "") for n in names]
    outputs = [value.name for value in proto.graph.output]
    used = (mod, params) if outputs == names else from_onnx(proto, shape_dict)
    return Computed(mod, params, tensors, used, outputs, answers)


def _with_xnnpack(model: Any, runs: _Runs, shape_dict: _Shapes) -> Computed:
    """Run a program. The delegate returns only its outputs."""
    mod, params = from_exported_program(model, shape_dict)
    names = [info.name for info in signature_of(mod).outputs]
    found = _answers(lambda: oracle.XnnpackSession(model), runs)
    answers = (dict(zip(names, each, strict=True)) for each in found)
    tensors = [(name, index, "") for index, name in enumerate(names)]
    return Computed(mod, params, tensors, (mod, params), names, answers)


@dataclass(frozen=True)
class Reference:
    """A framework that models are compared with.

    Attributes:
        name: its name on the command line.
        format: the format of the models that it runs.
        title: its name in sentences.
        package: the package with it.
        check: raises an error if the package is not installed.
        compute: imports a model, and runs it on the framework.
    """

    name: str
    format: str
    title: str
    package: str
    check: Callable[[], None]
    compute: Callable[[Any, _Runs, _Shapes], Computed]


_LITERT = ("litert", "TFLite", "LiteRT's reference kernels", "ai-edge-litert")
_ONNX_RUNTIME = ("onnxruntime", "ONNX", "ONNX Runtime", "onnxruntime")
_XNNPACK = ("xnnpack", "PyTorch", "XNNPACK's delegate", "executorch")
REFERENCES = (
    Reference(*_LITERT, oracle.check_litert, _with_litert),
    Reference(*_ONNX_RUNTIME, oracle.check_onnxruntime, _with_onnxruntime),
    Reference(*_XNNPACK, oracle.check_executorch, _with_xnnpack),
)


def reference_of(model: Any, against: str | None = None) -> Reference:
    """Return the framework that a model is compared with.

    Args:
        model: as for ``compare``.
        against: a name in ``REFERENCES``.

    Raises:
        QnnError: if no framework has the model's format, or ``against`` is another one.
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


def _without_leftovers(graph: Model, expected: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Put zeros behind the boxes that a detector found: LiteRT leaves those elements unwritten."""
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
