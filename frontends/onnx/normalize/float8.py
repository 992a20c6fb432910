"""float8: its numbers are stored as float32, and quantizing operators round to them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import dtype_named
from frontends.onnx.read.names import attributes_of, is_of_standard
from frontends.onnx.read.standard import MOVING

_KINDS = ("output_dtype", "to")


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
