"""Dense layers whose data is quantized at run time, row by row, as in XNNPACK."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.call import Call, Rule
from frontends.torch.quantized.affine import GROUPS, INT4, is_integer_layer
from frontends.torch.quantized.groups import DEQUANTIZE, integer_layer, weight_layer
from frontends.torch.reader import is_call, operator_of, values_of
from qnn_ops import fused_multiply_add, quantized_dense
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range

CHOOSE, QUANTIZE = "choose_qparams.tensor", "quantize_per_tensor.tensor"
DYNAMIC = (CHOOSE, QUANTIZE, DEQUANTIZE)
"""The operators around the data of such a layer."""

_LINEAR = "linear.default"
_WEIGHTS = "dequantize_per_channel.default"
_LOW, _HIGH = dtype_range("int8")


def _linear(call: Call) -> relax.Expr:
    emit, (_, weights, *_) = call.emit, call.node.args
    data, matrix, *others = call.importer.retrieve_args(call.node)
    given = others[0] if others else None
    if is_call(weights, GROUPS) and not _is_dynamic(call.node):
        return weight_layer(call, data, weights, given)
    if not _is_dynamic(call.node):
        return R.linear(data, matrix, given, "float32")
    bytes_, scale, point = rows = tuple(map(call.expr, call.node.args[0].args[:3]))
    if is_call(weights, GROUPS) and values_of(weights)[3:5] == [*INT4]:
        return integer_layer(call, rows, weights, given)
    array, scales = _weights_of(weights, call.constants)
    sums = quantized_dense(bytes_, relax.const(array, "int8"), 1.0, 0, 1.0, 0, 1.0, 0, "int32")
    of_units = relax.const(array.sum(axis=1, dtype=np.int32), "int32")
    sums = emit(R.subtract(emit(sums), R.multiply(R.astype(point, "int32"), of_units)))
    real = emit(R.multiply(R.astype(sums, "float32"), scale))
    addend = relax.const(0.0, "float32") if given is None else given
    return fused_multiply_add(real, relax.const(scales, "float32"), addend)


def _choose(call: Call) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """Return the scale, the zero point and the factor of each row.

    All are float32, with one column. Data is multiplied by the factor. The scale is its reciprocal,
    rounded once more.
    """
    data = call.array(call.node.args[0])
    low = np.minimum(data.min(-1, keepdims=True), 0)
    high = np.maximum(data.max(-1, keepdims=True), 0)
    factor: Any = np.where(low == high, 1, (_HIGH - _LOW) / (high - low))
    below, above = low * factor, high * factor
    errors = (_LOW + below) + (_HIGH + above)
    point = np.where(errors > 0, _LOW - below, _HIGH - above)
    rounded: Any = np.rint(np.clip(point, float(_LOW), float(_HIGH)))
    return (1 / factor).expr, rounded.expr, factor.expr


def _quantize(call: Call) -> relax.Expr:
    data, scale, point = call.node.args[:3]
    _, _, factor = call.expr(scale.args[0])
    steps = R.add(R.round(call.emit(R.multiply(call.expr(data), factor))), call.expr(point))
    return R.astype(R.clip(steps, float(_LOW), float(_HIGH)), "int8")


def _dequantize(call: Call) -> Any:
    """Return the integers: only dense layers read them, and get the scale separately."""
    return call.expr(call.node.args[0])


LAYERS: dict[str, Rule] = {
    CHOOSE: _choose,
    QUANTIZE: _quantize,
    **dict.fromkeys((DEQUANTIZE, GROUPS), _dequantize),
    _LINEAR: _linear,
}
"""The rules of such layers' operators, by their names."""


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
