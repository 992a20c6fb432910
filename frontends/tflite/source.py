"""Describes and imports a TFLite model, with the interface of all formats."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frontends.builder import Imported
from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.formats import Shapes, Source
from frontends.summary import (
    FALLBACK,
    FLOAT,
    INTEGER,
    UNSUPPORTED,
    Descriptions,
    OperatorInfo,
    SignatureNote,
    Summary,
    TensorNote,
)
from frontends.tflite.converters.choice import rule_for
from frontends.tflite.file_names import SEMANTICS
from frontends.tflite.importer import import_graph, with_semantics
from frontends.tflite.interface.metadata import read_metadata
from frontends.tflite.model import VARIANT, Model, Operator, Tensor
from frontends.tflite.operators import row_of
from frontends.tflite.reader import read_model
from qnn_ops.arrays import Array
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError


class TFLiteSource(Source):
    """A TFLite model."""

    def __init__(self, model: Any, semantics: str = SEMANTICS[0]) -> None:
        """Read a model.

        Args:
            model: its path, its contents, or an object.
            semantics: one of ``SEMANTICS``.

        Raises:
            QnnError: there are no such semantics.
        """
        self.graph = with_semantics(
            model if isinstance(model, Model) else read_model(model), semantics
        )
        self._model = model

    def convert(self, shapes: Shapes | None = None) -> Imported:
        """Import it."""
        return import_graph(self.graph, shapes)

    def summary(self, name: str, shapes: Shapes | None = None) -> Summary:
        """Describe the file, with the tensors' shapes for the given inputs."""
        reasons = self._reasons(shapes)
        graph = _sized(self.graph, shapes) if shapes and not reasons else self.graph
        constants = self.constants().values()
        return Summary(
            name=name,
            format="TFLite",
            inputs=_notes(graph, graph.inputs),
            outputs=_notes(graph, graph.outputs),
            operators=tuple(_operator(graph, operator, reasons) for operator in graph.operators),
            parameters=sum(array.size for array in constants),
            parameter_bytes=sum(array.nbytes for array in constants),
            signatures=_signatures(graph) if len(graph.entries) > 1 else (),
        )

    def constants(self) -> dict[int, Array]:
        """Return the tensors whose values are in the file."""
        return {
            tensor.index: tensor.data for tensor in self.graph.tensors if tensor.data is not None
        }

    def descriptions(self) -> Descriptions:
        """Read the file's metadata."""
        if isinstance(self._model, bytes | bytearray | memoryview | str | os.PathLike):
            return read_metadata(self._model)
        return Descriptions()

    def _reasons(self, shapes: Shapes | None) -> dict[int, str]:
        """List why operators cannot be imported, by their numbers."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # operators that fall back are part of the answer
                self.convert(shapes)
        except UnsupportedOperatorError as error:
            return {index: reason for index, _, reason, _ in error.operators}
        return {}


def _sized(graph: Model, shapes: Shapes) -> Model:
    """Return a model whose tensors have their shapes for the given inputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = signature_of(import_graph(graph, shapes, outputs="all").mod)
    found = dict(zip((*graph.inputs, *graph.computed), (*ends.inputs, *ends.outputs), strict=True))
    tensors = [
        replace(each, shape=found[each.index].shape) if each.index in found else each
        for each in graph.tensors
    ]
    return replace(graph, tensors=tuple(tensors))


def _signatures(graph: Model) -> tuple[SignatureNote, ...]:
    graphs = (graph, *graph.subgraphs)

    def notes(subgraph: int, names: Sequence[tuple[str, int]]) -> tuple[TensorNote, ...]:
        tensors = graphs[subgraph].tensors if 0 <= subgraph < len(graphs) else ()
        return tuple(
            replace(_note(tensors[index]), name=name)
            for name, index in names
            if 0 <= index < len(tensors)
        )

    return tuple(
        SignatureNote(
            each.key, notes(each.subgraph, each.inputs), notes(each.subgraph, each.outputs)
        )
        for each in graph.entries
    )


def _operator(graph: Model, operator: Operator, reasons: dict[int, str]) -> OperatorInfo:
    outputs = _notes(graph, operator.outputs)
    reason = reasons.get(operator.index, "")
    return OperatorInfo(
        index=operator.index,
        code=operator.code,
        name=outputs[0].name if outputs else "",
        inputs=_notes(graph, operator.inputs),
        outputs=outputs,
        options={name: _plain(value) for name, value in vars(operator.options).items()},
        macs=0 if reason else _macs(graph, operator),
        lowering=UNSUPPORTED if reason else _lowering(graph, operator),
        reason=reason,
    )


def _macs(graph: Model, operator: Operator) -> int:
    products = row_of(operator.code).products
    if products is None:
        return 0
    operands = [graph.tensors[index].shape for index in operator.inputs]
    return products(operands, graph.tensors[operator.outputs[0]].shape)


def _lowering(graph: Model, operator: Operator) -> str:
    try:
        _, is_fallback = rule_for(graph, operator)
    except UnsupportedError:
        return INTEGER  # it was imported: its operands, or its result, followed from constants
    except QnnError:
        return UNSUPPORTED
    if is_fallback:
        return FALLBACK
    dtypes = {
        graph.tensors[index].dtype for index in (*operator.inputs, *operator.outputs) if index >= 0
    }
    is_float = dtypes <= {"float32", "int32", "int64", "bool", VARIANT} and "float32" in dtypes
    return FLOAT if is_float else INTEGER


def _notes(graph: Model, indices: tuple[int, ...]) -> tuple[TensorNote, ...]:
    return tuple(_note(graph.tensors[index]) for index in indices if index >= 0)


def _note(tensor: Tensor) -> TensorNote:
    known = tensor.quantization
    return TensorNote(
        index=tensor.index,
        name=tensor.name,
        shape=tensor.shape,
        dtype=tensor.dtype,
        quantization=_quantization(tensor),
        is_constant=tensor.data is not None,
        scales=() if known is None else tuple(known.scale.tolist()),
        zero_points=() if known is None else tuple(known.zero_point.tolist()),
        axis=0 if known is None else known.axis,
    )


def _quantization(tensor: Tensor) -> str:
    if tensor.blocks is not None:
        return f"scales by blocks of {tensor.blocks.size}, in tensor {tensor.blocks.scales}"
    if tensor.quantization is None:
        return ""
    scale, zero_point = tensor.quantization.scale, tensor.quantization.zero_point
    if not tensor.quantization.is_per_channel:
        return f"scale {scale[0]:.6g}, zero point {zero_point[0]}"
    low, high = float(scale.min()), float(scale.max())
    text = f"{scale.size} scales from {low:.6g} to {high:.6g} along axis {tensor.quantization.axis}"
    points = np.unique(zero_point)
    zero = str(points[0]) if points.size == 1 else f"{points[0]} to {points[-1]}"
    return f"{text}, zero point {zero}"


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, list, tuple)) else str(value)
