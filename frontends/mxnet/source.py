"""Describes and imports an MXNet model, with the interface of all formats."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from frontends.builder import Imported
from frontends.errors import UnsupportedOperatorError
from frontends.formats import Shapes, Source
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.graph import Entry, Node
from frontends.mxnet.importer import import_graph, parameters
from frontends.mxnet.scalars import Value
from frontends.mxnet.symbol import read_model
from frontends.summary import FLOAT, INTEGER, UNSUPPORTED, OperatorInfo, Summary, TensorNote
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_INTEGER = ("_contrib_quantize", "_contrib_dequantize", "_contrib_requantize", "_sg_")

_PRODUCTS_PER_OUTPUT = {
    *("Convolution", "FullyConnected"),
    *("_contrib_quantized_conv", "_contrib_quantized_fully_connected"),
    *("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"),
    *("_sg_onednn_conv", "_sg_onednn_fully_connected"),
}


class MXNetSource(Source):
    """An MXNet model; shapes, ranges and products are known if its inputs' shapes are known."""

    def __init__(self, model: Any, params: Any, semantics: str) -> None:
        """Read a model: the path of its symbol, or an object.

        Args:
            model: the model.
            params: the path of its parameters, or arrays by name; by default the file beside the
                symbol, net-0000.params for net-symbol.json, or the object's own.
            semantics: one of ``SEMANTICS``.
        """
        if params is None and isinstance(model, str | os.PathLike):
            params = params_beside(Path(model))
        self.graph, own = read_model(model)
        self.parameters = {**own, **parameters(params)}
        self.semantics = semantics

    def convert(
        self, shapes: Shapes | None = None, values: dict[Entry, Value] | None = None
    ) -> Imported:
        """Import it; ``values`` is as in ``import_graph``."""
        return import_graph(
            self.graph, self.parameters, shapes or None, semantics=self.semantics, values=values
        )

    def summary(self, name: str, shapes: Shapes | None = None) -> Summary:
        """Describe it, as far as the shapes of its inputs are known."""
        values: dict[Entry, Value] = {}
        reasons = self._reasons(shapes, values)
        numbered = list(enumerate(self.graph.nodes))
        values |= {Entry(number): array for number, array in self.constants().items()}
        notes = [self._note(number, node, values) for number, node in numbered]
        return Summary(
            name=name,
            format="MXNet",
            inputs=tuple(
                notes[number]
                for number, node in numbered
                if node.is_variable and not notes[number].is_constant
            ),
            outputs=tuple(notes[entry.node] for entry in self.graph.heads),
            operators=tuple(
                _operator(number, node, notes, values, reasons.get(number, ""))
                for number, node in numbered
                if not node.is_variable
            ),
            parameters=sum(array.size for array in self.parameters.values()),
            parameter_bytes=sum(array.nbytes for array in self.parameters.values()),
        )

    def constants(self) -> dict[int, Array]:
        """Return the parameters that the graph names."""
        return {
            number: self.parameters[node.name]
            for number, node in enumerate(self.graph.nodes)
            if node.is_variable and node.name in self.parameters
        }

    def _reasons(self, shapes: Shapes | None, values: dict[Entry, Value]) -> dict[int, str]:
        """List why operators cannot be imported, by number; fill in the known values."""
        try:
            self.convert(shapes, values)
        except UnsupportedOperatorError as error:
            return {index: reason for index, _, reason, _ in error.operators}
        except QnnError:
            # Without the inputs' shapes most models cannot be imported, but can be inspected.
            if shapes:
                raise
        return {}

    def _note(self, number: int, node: Node, values: Mapping[Entry, Value]) -> TensorNote:
        shape, dtype = _type(values.get(Entry(number)))
        limits = _limits(values.get(Entry(number, 1)), values.get(Entry(number, 2)))
        return TensorNote(
            index=number,
            name=node.name,
            shape=shape,
            dtype=dtype,
            quantization="from {:.6g} to {:.6g}".format(*limits) if limits else "",
            is_constant=node.is_variable and node.name in self.parameters,
            limits=limits,
        )


def params_beside(symbol: Path) -> Path:
    """Return the newest .params file beside a symbol file, by MXNet's naming.

    Raises:
        QnnError: if there is none.
    """
    stem = symbol.stem.removesuffix("-symbol")
    found = sorted(symbol.parent.glob(f"{stem}-[0-9][0-9][0-9][0-9].params"))
    if not found:
        raise QnnError(f"there is no {stem}-0000.params beside {symbol}: name it with --params")
    return found[-1]


def _type(value: Value | None) -> tuple[tuple[int, ...], str]:
    if value is None:
        return (), ""
    if isinstance(value, np.ndarray):
        return tuple(value.shape), str(value.dtype)
    spec = spec_of(value)
    return spec.shape, spec.dtype


def _limits(low: Value | None, high: Value | None) -> tuple[float, ...]:
    ends = [float(end) for end in (low, high) if isinstance(end, np.ndarray) and end.size == 1]
    return tuple(ends) if len(ends) == 2 else ()


def _operator(
    number: int,
    node: Node,
    notes: list[TensorNote],
    values: Mapping[Entry, Value],
    reason: str,
) -> OperatorInfo:
    # A quantized tensor comes with its range: three inputs, one node.
    inputs = tuple(notes[node] for node in dict.fromkeys(entry.node for entry in node.inputs))
    types = [_type(values.get(entry)) for entry in (*node.inputs[:2], Entry(number))]
    is_known = len(types) == 3 and all(dtype for _, dtype in types)
    return OperatorInfo(
        index=number,
        code=node.op,
        name=node.name,
        inputs=inputs,
        outputs=(notes[number],),
        options=json.loads(json.dumps(dict(node.attrs))),
        macs=_macs(node.op, *(shape for shape, _ in types)) if is_known else 0,
        lowering=UNSUPPORTED if reason else _lowering(node),
        reason=reason,
    )


def _macs(op: str, data: tuple[int, ...], weights: tuple[int, ...], result: tuple[int, ...]) -> int:
    """Count an operator's products, by the shapes of its first inputs and its result."""
    if op in _PRODUCTS_PER_OUTPUT:
        return prod(result) * prod(weights[1:])
    # Every element of the data meets the weights of its channel.
    return prod(data) * prod(weights[1:]) if op == "Deconvolution" else 0


def _lowering(node: Node) -> str:
    if not node.op.startswith(_INTEGER):
        return FLOAT
    # Fusion comes before quantization, which leaves some fused operators unchanged.
    is_left = node.op.startswith("_sg_") and not Attributes(node.attrs).flag("quantized", False)
    return FLOAT if is_left else INTEGER
