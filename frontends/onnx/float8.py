"""float8, whose numbers are held as float32: what quantizes rounds to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.onnx.package import onnx_package

Array = np.ndarray[Any, Any]

_FLOAT, _ENCODED = 1, 2
"""float32 among the numbers of element types; operands of what quantizes, without a zero point."""
_MOVING = (
    *("Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze"),
    *("Transpose", "Unsqueeze"),
)
_KINDS = ("output_dtype", "to")


def with_float8(
    nodes: list[Any], constants: Mapping[str, Array], attributes_of: Any, prefix: str
) -> tuple[list[Any], dict[str, Array]]:
    """Write what makes and reads float8 as operators of our own, and constants as float32.

    What has a zero point that is not 0, does not saturate, or has other scales than float32, stays.

    Args:
        nodes: of a model, in order.
        constants: of it, by name.
        attributes_of: gives a node's attributes.
        prefix: of names that no tensor has.

    Returns:
        The nodes, and constants that are new.
    """
    small = {name for name, array in constants.items() if array.dtype.name.startswith("float8")}
    added: dict[str, Array] = {}
    make, written = onnx_package().helper.make_node, list[Any]()

    def wide(name: str) -> str:
        if name not in constants:
            return name
        added[f"{prefix}{name}_wide"] = constants[name].astype(np.float32)
        return f"{prefix}{name}_wide"

    def has_scale(node: Any) -> bool:
        scale = constants.get((*node.input, "", "")[1])
        point = constants.get((*node.input, "", "")[2])
        is_zero = point is None or not point.astype(np.float32).any()
        return is_zero and scale is not None and scale.dtype == np.float32

    for node in nodes:
        given = attributes_of(node)
        where = {key: given[key] for key in ("axis", "block_size") if key in given}
        dtype = _made(node, constants, given)
        if dtype and given.get("saturate", 1) and (node.op_type == "Cast" or has_scale(node)):
            scale = node.input[1] if node.op_type == "QuantizeLinear" else f"{prefix}one"
            if node.op_type == "Cast":
                added[scale] = np.ones((), np.float32)
            source = wide(node.input[0]) if node.input[0] in small else node.input[0]
            node = make("QuantizeFloat8", [source, scale], list(node.output), dtype=dtype, **where)
            small.add(node.output[0])
        elif node.input and node.input[0] in small:
            if node.op_type == "DequantizeLinear" and has_scale(node):
                operands = [wide(node.input[0]), node.input[1]]
                node = make("DequantizeFloat8", operands, list(node.output), **where)
            elif node.op_type in (*_MOVING, "Cast"):
                for place, name in enumerate(node.input):
                    node.input[place] = wide(name) if name in small else name
                small.update(node.output if node.op_type != "Cast" else ())
        written.append(node)
    return written, added


def _made(node: Any, constants: Mapping[str, Array], attributes: Mapping[str, Any]) -> str:
    """Return the float8 that a node rounds to; empty where it rounds to none."""
    if node.op_type not in ("Cast", "QuantizeLinear") or node.domain not in ("", "ai.onnx"):
        return ""
    point = constants.get((*node.input, "", "")[_ENCODED])
    stated = next((int(attributes[name]) for name in _KINDS if attributes.get(name, 0)), 0)
    if point is not None and node.op_type == "QuantizeLinear":
        name = point.dtype.name
    else:
        known = onnx_package().helper.get_all_tensor_dtypes()
        is_known = stated in known and stated != onnx_package().TensorProto.STRING
        name = onnx_package().helper.tensor_dtype_to_np_dtype(stated).name if is_known else ""
    return str(name) if name.startswith("float8") else ""
