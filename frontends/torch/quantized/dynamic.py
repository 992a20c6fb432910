"""Dense layers whose data is quantized at run time, row by row, as in XNNPACK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.quantized.affine import GROUPS, INT4, is_integer_layer
from frontends.torch.quantized.groups import DEQUANTIZE, integer_layer, weight_layer
from frontends.torch.reader import is_call, operator_of, values_of
from qnn_ops import fused_multiply_add, quantized_dense
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.expressions import Expression

Array = np.ndarray[Any, Any]

CHOOSE, QUANTIZE = "choose_qparams.tensor", "quantize_per_tensor.tensor"
DYNAMIC = (CHOOSE, QUANTIZE, DEQUANTIZE)
"""The operators around the data of such a layer."""

_LINEAR = "linear.default"
_WEIGHTS = "dequantize_per_channel.default"
_LOW, _HIGH = dtype_range("int8")


def dynamic_rules(constants: Mapping[str, Array]) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the rules of such layers' operators, by their names.

    Args:
        constants: of the program, by the names of their nodes.
    """

    def linear(node: Any, importer: Any) -> Any:
        emit = importer.block_builder.emit
        data, weights, *others = importer.retrieve_args(node)
        given = others[0] if others else None
        if is_call(node.args[1], GROUPS) and not _is_dynamic(node):
            return weight_layer(data, node.args[1], given, importer, constants)
        if not _is_dynamic(node):
            return emit(R.linear(data, weights, given, "float32"))
        bytes_, scale, point = rows = tuple(importer.env[each] for each in node.args[0].args[:3])
        if is_call(node.args[1], GROUPS) and values_of(node.args[1])[3:5] == [*INT4]:
            return integer_layer(rows, node.args[1], given, importer, constants)
        array, scales = _weights_of(node.args[1], constants)
        matrix = relax.const(array, "int8")
        sums = emit(quantized_dense(bytes_, matrix, 1.0, 0, 1.0, 0, 1.0, 0, "int32"))
        of_units = relax.const(array.sum(axis=1, dtype=np.int32), "int32")
        sums = emit(R.subtract(sums, R.multiply(R.astype(point, "int32"), of_units)))
        real = emit(R.multiply(R.astype(sums, "float32"), scale))
        addend = relax.const(0.0, "float32") if given is None else given
        return emit(fused_multiply_add(real, relax.const(scales, "float32"), addend))

    own = {CHOOSE: _choose, QUANTIZE: _quantize, DEQUANTIZE: _dequantize}
    return {**own, GROUPS: _dequantize, _LINEAR: linear}


def _choose(node: Any, importer: Any) -> tuple[relax.Var, relax.Var, relax.Var]:
    """Return the scale, the zero point and the factor of each row.

    All are float32, with one column. Data is multiplied by the factor. The scale is its reciprocal,
    rounded once more.
    """
    data: Any = Expression(importer.block_builder, importer.env[node.args[0]])
    low = np.minimum(data.min(-1, keepdims=True), 0)
    high = np.maximum(data.max(-1, keepdims=True), 0)
    factor: Any = np.where(low == high, 1, (_HIGH - _LOW) / (high - low))
    below, above = low * factor, high * factor
    errors = (_LOW + below) + (_HIGH + above)
    point = np.where(errors > 0, _LOW - below, _HIGH - above)
    rounded: Any = np.rint(np.clip(point, float(_LOW), float(_HIGH)))
    return (1 / factor).expr, rounded.expr, factor.expr


def _quantize(node: Any, importer: Any) -> relax.Var:
    emit = importer.block_builder.emit
    data, point = importer.env[node.args[0]], importer.env[node.args[2]]
    _, _, factor = importer.env[node.args[1].args[0]]
    steps = R.add(R.round(emit(R.multiply(data, factor))), point)
    result: relax.Var = emit(R.astype(R.clip(steps, float(_LOW), float(_HIGH)), "int8"))
    return result


def _dequantize(node: Any, importer: Any) -> relax.Var:
    """Return the integers: only dense layers read them, and get the scale separately."""
    result: relax.Var = importer.env[node.args[0]]
    return result


def _is_dynamic(linear: Any) -> bool:
    return is_call(linear.args[0], DEQUANTIZE)


def _weights_of(node: Any, constants: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the weights of a layer, and one scale for each unit."""
    array, scales = (constants[each.name] for each in node.args[:2])
    return array, scales.astype(np.float32).reshape(-1)


def check_dynamic(node: Any, constants: Mapping[str, Array]) -> None:
    """Check one of the operators around the data of a layer.

    Raises:
        UnsupportedError: it is not as torchao writes it for XNNPACK.
    """
    name = operator_of(node)
    if name == CHOOSE:
        low, high, _, dtype = node.args[1:5]
        if (low, high) != (_LOW, _HIGH) or str(dtype) != "torch.int8":
            raise UnsupportedError(f"data must be int8 from {_LOW} to {_HIGH}, got {low} to {high}")
        if not node.args[0].meta["val"].shape:
            raise UnsupportedError("data of a dense layer must have rows")
        readers = [reader for part in node.users for reader in part.users]
        _check_all(readers, QUANTIZE, DEQUANTIZE)
        return
    data, *parts = node.args[:3]
    chosen = _first(parts[0])
    of = data if name == QUANTIZE else _first(data)
    is_own = is_call(chosen, CHOOSE) and chosen.args[0] is of
    if name == DEQUANTIZE and not is_call(data, QUANTIZE):
        is_own = False
    if not is_own or any(part.args != (chosen, index) for index, part in enumerate(parts)):
        raise UnsupportedError("scales that are computed at run time must be those of the data")
    if name == QUANTIZE:
        _check_all(list(node.users), DEQUANTIZE)
    else:
        for reader in node.users:
            _check_reader(node, reader, constants)


def _check_all(readers: list[Any], *names: str) -> None:
    """Raise if something else reads a layer's quantized data: it would see the rows' scales."""
    if not all(is_call(reader, *names) for reader in readers):
        raise UnsupportedError(
            "scales that are computed at run time are not imported except for dense layers"
        )


def _first(node: Any) -> Any:
    """Return the first operand of a node; None if it has none."""
    return next(iter(node.args), None)


def _check_reader(node: Any, reader: Any, constants: Mapping[str, Array]) -> None:
    if not is_call(reader, _LINEAR) or reader.args[0] is not node:
        raise UnsupportedError("data that is quantized at run time is imported for dense layers")
    weights = reader.args[1]
    if is_call(weights, GROUPS) and is_integer_layer(weights, constants):
        return
    if not is_call(weights, _WEIGHTS) or weights.args[3]:
        raise UnsupportedError("weights beside it must have one scale for each unit: per channel")
    zeros = constants.get(getattr(weights.args[2], "name", ""))
    if getattr(weights.args[0], "name", "") not in constants or zeros is None or zeros.any():
        raise UnsupportedError("its weights are no constants with the zero point 0")
