"""Rewrites layers that torchao's ``quantize_`` made to the operators that PT2E has for them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.torch.package import torch_package
from frontends.torch.reader import calls_of, constants_of, is_call, operator_of, values_of
from qnn_ops.arrays import Array

GROUPS = "dequantize_per_channel_group.default"
"""The operator that dequantizes weights whose rows have a scale for each group of columns."""

INT4 = (-8, 7)
WHOLE_GROUPS = 32
"""The delegate's groups of int4 weights are multiples of this number."""

_CHOOSE, _QUANTIZE = "choose_qparams_affine.default", "quantize_affine.default"
_DEQUANTIZE, _LINEAR = "dequantize_affine.default", "linear.default"
_BYTES = (-128, 127)
_SPACE = "torchao."


def with_pt2e_operators(program: Any) -> Any:
    """Return a program in which torchao's dense layers have the operators of PT2E.

    Weights keep their integers, instead of being decomposed to arithmetic that widens them. Some
    data is quantized at run time, row by row. If ExecuTorch's delegate to XNNPACK multiplies its
    integers, it becomes the data of PT2E's dynamic layers. Otherwise it stays PyTorch's arithmetic.

    Args:
        program: a ``torch.export.ExportedProgram``; it is not changed.

    Returns:
        The program itself, if it has no such layers.
    """
    if not any(_is(node, _DEQUANTIZE) for node in calls_of(program)):
        return program
    program = program.run_decompositions({})  # a copy, of plain tensors
    nodes, constants = calls_of(program), constants_of(program)
    for node in nodes:
        if _is(node, _DEQUANTIZE) and _is_weight(node, constants):
            _rewrite_weights(node)
    for node in nodes:
        if _is(node, _CHOOSE) and _is_delegated(node, constants):
            _rewrite_data(node)
    program.graph_module.recompile()
    return program


def is_integer_layer(weights: Any, constants: Mapping[str, Array]) -> bool:
    """Tell whether the delegate multiplies integers of rows and of such weights.

    Args:
        weights: the node that dequantizes the weights.
        constants: of the program, by the names of their nodes.
    """
    array, scales, points, low, high, _, size = values_of(weights)[:7]
    zeros = constants.get(getattr(points, "name", ""))
    if zeros is None or zeros.any():
        return False
    if (low, high) == INT4:
        return bool(size % WHOLE_GROUPS == 0)
    return constants[scales.name].size == len(constants[array.name])


def _is(node: Any, name: str) -> bool:
    return is_call(node, name) and str(node.target).startswith(_SPACE)


def is_layer_of(reader: Any, node: Any, operand: int = 1) -> bool:
    """Tell whether a dense layer reads a node, as its weights or as another operand."""
    return is_call(reader, _LINEAR) and reader.args[operand] is node


def _is_weight(node: Any, constants: Mapping[str, Array]) -> bool:
    """Tell whether a node widens constant bytes to float32, for dense layers alone."""
    data, block, scales, points, dtype, low, high = values_of(node)[:7]
    names = [getattr(each, "name", "") for each in (data, scales, points)]
    is_constant = set(names) <= set(constants)
    real = node.meta["val"].dtype
    is_bytes = (str(dtype), str(real)) == ("torch.int8", "torch.float32")
    if not (is_constant and is_bytes and len(block) == 2 and block[0] == 1):
        return False
    is_whole = block[1] % 2 == 0 or block[1] == constants[names[0]].shape[1]
    is_range = isinstance(low, int) and isinstance(high, int)
    return is_whole and is_range and all(is_layer_of(each, node) for each in node.users)


def _rewrite_weights(node: Any) -> None:
    data, block, scales, points, dtype, low, high = values_of(node)[:7]
    real = node.meta["val"].dtype
    node.target = _pt2e().dequantize_per_channel_group.default
    node.args, node.kwargs = (data, scales, points, low, high, dtype, block[1], real), {}


def _is_delegated(node: Any, constants: Mapping[str, Array]) -> bool:
    """Tell whether a node chooses scales of rows that integer layers alone read."""
    data, mapping, block, dtype, *ends = values_of(node)[:6]
    is_rows = [*block] == [*[1] * (len(block) - 1), data.meta["val"].shape[-1]]
    is_bytes = str(dtype) == "torch.int8" and tuple(ends) in (_BYTES, (None, None))
    if not (is_rows and is_bytes and mapping == "ASYMMETRIC"):
        return False
    parts = {part.args[1]: part for part in node.users}
    readers = {reader for part in parts.values() for reader in part.users}
    integers = {each for each in readers if _is(each, _QUANTIZE) and each.args[0] is data}
    reals = {each for each in readers if _is(each, _DEQUANTIZE) and each.args[0] in integers}
    return (
        len(node.users) == len(parts)
        and readers == integers | reals
        and all(each.args[2:4] == (parts[0], parts[1]) for each in readers)
        and all(set(each.users) <= reals for each in integers)
        and all(_is_layer(reader, each, constants) for each in reals for reader in each.users)
    )


def _is_layer(reader: Any, data: Any, constants: Mapping[str, Array]) -> bool:
    if not is_layer_of(reader, data, 0) or operator_of(reader.args[1]) != GROUPS:
        return False
    return is_integer_layer(reader.args[1], constants)


def _rewrite_data(node: Any) -> None:
    """Quantize rows in PT2E's form, of the whole tensor, which the delegate reads as rows."""
    pt2e, (data, *_) = _pt2e(), node.args
    dtype, epsilon = node.args[3], float(np.finfo(np.float32).eps)
    node.target, node.args = pt2e.choose_qparams.tensor, (data, *_BYTES, epsilon, dtype)
    for reader in {reader for part in node.users for reader in part.users}:
        name = "dequantize" if _is(reader, _DEQUANTIZE) else "quantize"
        given, _, scale, point = reader.args[:4]
        reader.target = getattr(pt2e, f"{name}_per_tensor").tensor
        reader.args, reader.kwargs = (given, scale, point, *_BYTES, dtype), {}
    node.kwargs = {}


def _pt2e() -> Any:
    return torch_package().ops.quantized_decomposed
