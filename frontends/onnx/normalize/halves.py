"""Small floats, float16 and float8, which are computed in float32.

ONNX Runtime's CPU provider has few kernels for float16, and computes most in float32. Between two
operators that compute in float32 nothing is rounded to float16. Numbers of float8 are stored as
float32, and quantizing operators round to them.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import dtype_named
from frontends.onnx.read.names import attributes_of, copied, graphs_of, is_of_standard
from frontends.onnx.read.standard import COMPARING, DOMAINS, FLOAT, HALF, LOGICAL, MOVING

_CAST, _MAKES_REALS, _QUANTIZES = "Cast", "DequantizeLinear", "QuantizeLinear"

_MOVING = (
    *(*MOVING, "Compress", "ConstantOfShape", "GatherElements", "GatherND", "ReverseSequence"),
    *("Shape", "Split"),
)
"""Operators that move float16 elements without computing."""
_NATIVE = (
    *("Attention", "Clip", "IsInf", "IsNaN", "LayerNormalization", "Max", "Min", "Mod"),
    *("RMSNormalization", "RotaryEmbedding", "Round", "ScatterElements", "ScatterND", "Sign"),
    *("SimplifiedLayerNormalization", _CAST, _MAKES_REALS, _QUANTIZES, *_MOVING),
)
"""Operators that have a float16 kernel."""
_NATIVE_OF_ITS_OWN = (
    *("GatherBlockQuantized", "GroupQueryAttention", "MatMulNBits", "RotaryEmbedding"),
    *("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"),
)
"""Operators of ONNX Runtime's domain that have a float16 kernel."""

_WITHOUT_REALS = (
    *(*COMPARING, *LOGICAL, "ArgMax", "ArgMin", "IsInf", "IsNaN", "NonZero", "Not", "QLinearConv"),
    *("QLinearMatMul", _QUANTIZES, "Shape", "Size"),
)
"""Operators whose results are not real numbers."""
_ONE_OF_REALS = ("Dropout", "LayerNormalization", "MaxPool", "TopK")
"""Operators of which only the first result has the dtype of the data."""
_KINDS = ("to", "dtype", "output_dtype")
"""Attributes that name the dtype of a result."""


def widen_halves(graph: Graph) -> None:
    """Write float16 operators in float32, with a Cast wherever ONNX Runtime rounds."""
    halves = {name for name in graph.constants if graph.constants.dtype(name) == "float16"}
    halves |= {each.name for each in graph.input if each.type.tensor_type.elem_type == HALF}
    for node in graph.node:
        halves.update(_results(node, halves))
    if not halves:
        return
    _write_own_pairs(graph, halves)
    writer = _Writer(graph, halves)
    for node in graph.rewritten():
        writer.write(node, is_native=id(node) in writer.natives)
    for name in graph.kept:
        writer.materialize(name)


def _results(node: Any, halves: Collection[str]) -> list[str]:
    """Return the results of a node that are float16, from the float16 tensors before it."""
    kinds = {each.name: each for each in node.attribute}
    stated = next((kinds[name].i for name in _KINDS if name in kinds and kinds[name].i), 0)
    if stated or node.op_type in (*_WITHOUT_REALS, _CAST):
        is_half = stated == HALF and node.op_type != _QUANTIZES
    elif node.op_type == "ConstantOfShape":
        is_half = "value" in kinds and kinds["value"].t.data_type == HALF
    else:
        is_half = any(name in halves for name in node.input)
    outputs = node.output[:1] if node.op_type in _ONE_OF_REALS else node.output
    return [name for name in outputs if name and is_half]


def _write_own_pairs(graph: Graph, halves: set[str]) -> None:
    """Give every reader a DequantizeLinear of its own, as ONNX Runtime does."""
    read = graph.index().uses.copy()
    makers = {
        node.output[0]: node
        for node in graph.node
        if node.op_type == _MAKES_REALS and node.output[0] in halves and read[node.output[0]] > 1
    }
    for node in graph.rewritten():
        for index, name in enumerate(node.input):
            if name in makers and read[name] > 1:
                own = copied(makers[name])
                read[name] -= 1
                own.output[0] = node.input[index] = f"{graph.prefix}{name}_{read[name]}"
                halves.add(own.output[0])
                graph.node.append(own)
        graph.node.append(node)


class _Writer:
    def __init__(self, graph: Graph, halves: set[str]) -> None:
        self.graph, self.halves, self.kept = graph, halves, {*graph.kept}
        self.made, self.readers = graph.index().made, graph.readers
        self.free: dict[str, str] = {}
        """Tensors of float32 that were not rounded, by the name of the float16 tensor."""
        self.wide: dict[str, str] = {}
        """Tensors of float32 that were rounded to float16, by the name of the float16 tensor."""
        self.missing: set[str] = set()
        """Tensors of float16 that no node makes yet."""
        self.natives = {id(node) for node in graph.node if self._is_native(node)}
        """The ids of nodes that compute in float16; a node between float32 ones does not."""
        for node in graph.node:
            if id(node) in self.natives and self._is_between(node):
                self.natives.remove(id(node))

    def _is_native(self, node: Any) -> bool:
        if [*graphs_of(node)]:
            return True
        if node.domain not in DOMAINS:
            scale = (*node.input, "", "", "")[2]
            is_own = node.op_type in _NATIVE_OF_ITS_OWN
            return is_own and (node.op_type != "MatMulNBits" or scale in self.halves)
        return node.op_type in _NATIVE

    def _is_between(self, node: Any) -> bool:
        """Tell whether every node around one of float16 computes in float32."""
        given, results = self.halves.intersection(node.input), _results(node, self.halves)
        if node.op_type == _CAST or not given or not results or self.kept & {*node.output}:
            return False
        if [*graphs_of(node)] or not any(name in self.made for name in node.input):
            return False
        if node.op_type == "Concat":  # ONNX Runtime looks only at the first operand
            given = given.intersection(node.input[:1])
        around = [self.made[name] for name in given if name in self.made]
        around += [each for name in results for each in self.readers.get(name, [])]
        return all(
            id(each) not in self.natives and self.halves.intersection(each.input) for each in around
        )

    def write(self, node: Any, *, is_native: bool) -> None:
        """Add a node, and casts before or after it."""
        given, results = self.halves.intersection(node.input), _results(node, self.halves)
        if node.op_type == _CAST:
            self._write_cast(node)
        elif not given and not results:
            self.graph.node.append(node)
        elif is_native and (node.op_type in _MOVING or [*graphs_of(node)]):
            for name in node.input:
                self.materialize(name)
            self.graph.node.append(node)
        else:
            for index, name in enumerate(node.input):
                if name in given:
                    node.input[index] = self._widened(name, is_rounded=is_native)
            for each in node.attribute:
                if each.name in _KINDS and each.i == HALF:
                    each.i = FLOAT
            for index, name in enumerate(node.output):
                if name in results:
                    node.output[index] = f"{self.graph.prefix}{name}_real"
                    self.free[name] = node.output[index]
                    self.missing.add(name)
            self.graph.node.append(node)
            for name in results:
                if is_native:
                    self.materialize(name)
                    del self.free[name]
                elif node.op_type == _MAKES_REALS:  # ONNX Runtime makes no group from it
                    self.free[name] = self._cast(
                        self.free[name], f"{self.graph.prefix}{name}_apart"
                    )

    def _write_cast(self, node: Any) -> None:
        source, result = node.input[0], node.output[0]
        if self._is_passed(node):
            node.input[0] = self.free[source]
        else:
            self.materialize(source)
        self.graph.node.append(node)
        readers = [each.op_type for each in self.readers.get(result, [])]
        if result in self.halves and source not in self.halves and _CAST not in readers:
            self.free[result] = node.input[0]

    def _is_passed(self, node: Any) -> bool:
        """Tell whether a Cast reads float32 that only other readers need rounded to float16."""
        source, result = node.input[0], node.output[0]
        if source not in self.free or self.made[source].op_type == _CAST:
            return False
        if any(each.i == FLOAT for each in node.attribute) and result not in self.kept:
            return True
        readers = self.readers[source]
        are_casts = (id(each) not in self.natives or each.op_type == _CAST for each in readers)
        return source not in self.kept and all(are_casts)

    def materialize(self, name: str) -> None:
        """Round a tensor to float16, if it is not rounded yet."""
        if name in self.missing:
            self.missing.discard(name)
            self._cast(self.free[name], name, HALF)

    def _widened(self, name: str, *, is_rounded: bool) -> str:
        """Return the float32 tensor of a float16 one, either rounded or not."""
        if name in self.free and not is_rounded:
            if self.made[name].op_type != _CAST:
                return self.free[name]
            key = f"{name}_uncast"
            if key not in self.wide:
                self.wide[key] = self._cast(self.free[name], f"{self.graph.prefix}{key}")
            return self.wide[key]
        if name not in self.wide:
            wide = f"{self.graph.prefix}{name}_wide"
            if name in self.graph.constants:
                self.graph.constant(self.graph.constants[name].astype(np.float32), wide)
            else:
                self.materialize(name)
                self._cast(name, wide)
            if (shape := self.graph.known_shape(name)) is not None:
                self.graph.shapes[wide] = shape
            self.wide[name] = wide
        return self.wide[name]

    def _cast(self, name: str, result: str, kind: int = FLOAT) -> str:
        return self.graph.add(_CAST, name, output=result, to=kind)


def write_float8(graph: Graph) -> None:
    """Write operators that make or read float8 as operators of this package; constants as float32.

    A node stays if its zero point is not 0, it does not saturate, or its scales are not float32.
    """
    constants = graph.constants
    small = {name for name in constants if constants.dtype(name).startswith("float8")}

    def wide(name: str) -> str:
        if name not in small or name not in constants:
            return name
        return graph.constant(constants[name].astype(np.float32))

    def has_scale(node: Any) -> bool:
        scale, point = graph.encoding(node)
        is_zero = point is None or not point.astype(np.float32).any()
        return is_zero and scale is not None and scale.dtype == np.float32

    def rule(graph: Graph, node: Any) -> bool:
        given, output = attributes_of(node), list(node.output)
        where = {key: given[key] for key in ("axis", "block_size") if key in given}
        dtype = _made(graph, node, given)
        if dtype and given.get("saturate", 1) and (node.op_type == "Cast" or has_scale(node)):
            scale = node.input[1] if node.op_type == "QuantizeLinear" else 1.0
            data = wide(node.input[0])
            graph.add("QuantizeFloat8", data, scale, output=output, dtype=dtype, **where)
            small.add(node.output[0])
            return True
        if not node.input or node.input[0] not in small:
            return False
        if node.op_type == "DequantizeLinear" and has_scale(node):
            operands = wide(node.input[0]), node.input[1]
            graph.add("DequantizeFloat8", *operands, output=output, **where)
            return True
        if node.op_type in (*MOVING, "Cast"):
            node.input[:] = [wide(name) for name in node.input]
            small.update(node.output if node.op_type != "Cast" else ())
        return False

    graph.apply(rule)


def _made(graph: Graph, node: Any, attributes: Mapping[str, Any]) -> str:
    """Return the float8 dtype that a node rounds to; empty if there is none."""
    if not is_of_standard(node, "Cast", "QuantizeLinear"):
        return ""
    point = graph.encoding(node)[1]
    stated = next((int(attributes[name]) for name in _KINDS if attributes.get(name, 0)), 0)
    if point is not None and node.op_type == "QuantizeLinear":
        name = str(point.dtype.name)
    else:
        name = dtype_named(stated)
    return name if name.startswith("float8") else ""
