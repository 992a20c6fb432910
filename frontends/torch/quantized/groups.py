"""Dense layers whose weights have a scale for each group of columns, and stay integers."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.call import Call
from frontends.torch.quantized.affine import GROUPS, INT4, is_layer_of
from frontends.torch.reader import calls_of, is_call, operator_of, values_of
from qnn_ops import blockwise_dense, fused_multiply_add, quantized_dense
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.quantized.blockwise_dense import packed

PRODUCT = "mm.default"
"""The product in PyTorch's own form of a layer of ``Int8WeightOnlyConfig``."""

DEQUANTIZE = "dequantize_per_tensor.tensor"
"""The operator that dequantizes data that a run quantized."""

_WIDENING = "_to_copy.default"
_MOVING = ("t.default", "transpose.int")
_BYTE = 8
_SUMMED = 16
"""The number of weights whose sum the delegate rounds at a time, when it packs them."""


def integer_layer(
    call: Call, rows: tuple[relax.Expr, ...], weights: Any, bias: relax.Expr | None
) -> relax.Expr:
    """Multiply integers of rows and of weights, group by group, as XNNPACK does.

    Source of the arithmetic: qd8-f32-qb4w of XNNPACK for AVX512-VNNI, and its packing of weights;
    ExecuTorch rounds the scales to bfloat16. Let x be the bytes and z the zero point of a row, and
    q the weights of a unit. The sum begins with -(z + 128) · k. Each group adds Σ(x + 128) · q
    times its scale, with one rounding. k is the sum of q times the scales, of 16 at a time. The
    scale of the row and the bias follow, each rounded.

    Args:
        call: the layer.
        rows: the bytes, and the scale and the zero point of each row.
        weights: the node that makes real numbers of them.
        bias: of the units, or None.
    """
    emit, (data, scale, point) = call.emit, rows
    array, scales, _, size = _parts(weights, call.constants)
    factors = bfloat16(scales)
    sums = array.reshape(*factors.shape, -1, min(_SUMMED, size)).sum(-1, dtype=np.float32)
    terms = (sums * factors[..., None]).reshape(len(array), -1)
    of_weights = np.add.accumulate(terms, axis=1, dtype=np.float32)[:, -1]
    shifted = emit(R.subtract(relax.const(-128.0, "float32"), point))
    total = emit(rounded(emit(R.multiply(shifted, relax.const(of_weights)))))
    for group in range(factors.shape[1]):
        part = slice(group * size, (group + 1) * size)
        columns = emit(R.strided_slice(data, [-1], [part.start], [part.stop]))
        matrix = relax.const(np.ascontiguousarray(array[:, part]))
        products = quantized_dense(columns, matrix, 1.0, -128, 1.0, 0, 1.0, 0, "int32")
        real = emit(R.astype(emit(products), "float32"))
        total = emit(fused_multiply_add(real, relax.const(factors[:, group].copy()), total))
    result = emit(rounded(emit(R.multiply(total, scale))))
    return result if bias is None else R.add(result, bias)


def bfloat16(array: Array) -> Array:
    """Round float32 to the nearest bfloat16, ties to even."""
    bits = array.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32)


def weight_layer(call: Call, data: relax.Expr, weights: Any, bias: relax.Expr | None) -> relax.Expr:
    """Multiply float32 by weights that stay bytes; only the sums' order differs from PyTorch's.

    Args:
        call: the layer.
        data: float32 rows.
        weights: the node that makes real numbers of them.
        bias: of the units, or None.
    """
    array, scales, points, size = _parts(weights, call.constants)
    bits = 4 if INT4[0] <= array.min(initial=0) and array.max(initial=0) <= INT4[1] else _BYTE
    result = _product(data, array, scales, points, bits, size)
    return result if bias is None else R.add(call.emit(result), bias)


def check_groups(node: Any, constants: Mapping[str, Array]) -> None:
    """Check the operator that dequantizes a layer's weights.

    Raises:
        UnsupportedError: the weights are not constants, or something else reads them.
    """
    if not {getattr(each, "name", "") for each in values_of(node)[:3]} <= set(constants):
        raise UnsupportedError("its weights, scales and zero points are not constant")
    if not all(is_layer_of(reader, node) for reader in node.users):
        raise UnsupportedError("weights with scales by group are imported for dense layers")


def product(call: Call) -> Any:
    """Multiply matrices; one of them may be widened bytes."""
    if (widened := widened_bytes(call.node.args[1], call.constants)) is None:
        return call.by_tvm()
    array = call.constants[widened.name]
    ones, size = np.ones((len(array), 1), np.float32), array.shape[1]
    return _product(call.expr(call.node.args[0]), array, ones, ones * 0, _BYTE, size)


def widened_bytes(node: Any, constants: Mapping[str, Array]) -> Any:
    """Return the constant that a node turns into a transposed float32 matrix; None if none."""
    if not is_call(node, _WIDENING) or str(node.meta["val"].dtype) != "torch.float32":
        return None
    moved = node.args[0]
    data = moved.args[0] if is_call(moved, *_MOVING) and len(moved.meta["val"].shape) > 1 else None
    array = constants.get(getattr(data, "name", ""))
    return data if array is not None and array.dtype == np.int8 else None


def has_weight_layers(program: Any, constants: Mapping[str, Array]) -> bool:
    """Tell whether a layer of a program multiplies float data by integer weights."""
    return any(map(partial(_is_weight_layer, constants=constants), calls_of(program)))


def _is_weight_layer(node: Any, constants: Mapping[str, Array]) -> bool:
    if operator_of(node) == PRODUCT:
        return widened_bytes(node.args[1], constants) is not None
    is_group = operator_of(node) == GROUPS
    return is_group and any(not is_call(each.args[0], DEQUANTIZE) for each in node.users)


def _parts(weights: Any, constants: Mapping[str, Array]) -> tuple[Array, Array, Array, int]:
    """Return integers, scales and zero points of units and groups, and the size of a group."""
    array, scales, points = (constants[each.name] for each in values_of(weights)[:3])
    shape = len(array), -1
    factors, zeros = (each.reshape(shape).astype(np.float32) for each in (scales, points))
    return array, factors, zeros, int(values_of(weights)[6])


def _product(
    data: relax.Expr, array: Array, scales: Array, points: Array, bits: int, size: int
) -> relax.Expr:
    middle = 1 << (bits - 1)
    fields = (array.astype(np.int16) + middle).astype(np.uint8)
    fields = np.pad(fields, ((0, 0), (0, size % 2)))  # a group's weights are even
    zeros = [] if not points.any() else [relax.const(points + np.float32(middle))]
    operands = (data, relax.const(packed(fields, bits)), relax.const(scales), *zeros)
    return blockwise_dense(*operands, bits=bits, block_size=size + size % 2)
