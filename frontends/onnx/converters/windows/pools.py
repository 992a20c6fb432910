"""MaxPool, AveragePool and GlobalAveragePool, whose float32 sums have ONNX Runtime's order."""

from functools import reduce
from math import prod
from operator import add
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.reductions import lanes_sum
from frontends.onnx.converters.registry import Call, converter, formula
from frontends.onnx.converters.windows.convolutions import Window, window_of
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import is_open

_LANES = 4
_OF_ROWS = 19
"""The first operator set with averages that ONNX Runtime adds up row by row."""
_LONGEST = 32
"""The longest side of a window whose columns ONNX Runtime adds up first."""
_WIDEST = 2045
"""The columns of a padded image that fit in ONNX Runtime's buffer for their sums."""


@formula("GlobalAveragePool")
def _global_average_pool(call: Call, data: Any) -> Any:
    shape = data.shape
    # This form becomes a quantized mean, whose sums are exact in any order.
    if "order" in call.attributes or call.is_dequantized(data.expr):
        return R.mean(data.expr, list(range(2, len(shape))), keepdims=True)
    return _mean(data)


def _mean(data: Any) -> Any:
    shape, count = data.shape, prod(data.shape[2:])
    # Loops over channels that lie side by side become vector code.
    last = np.transpose(data, (0, *range(2, len(shape)), 1))
    means = _sums(last.reshape(shape[0], count, shape[1])) / count
    return means.reshape(*shape[:2], *[1] * (len(shape) - 2))


def _sums(pixels: Any) -> Any:
    """Add up the pixels: vectors, then their lanes, then the remaining pixels, one by one."""
    number, count, channels = pixels.shape
    whole = count // _LANES * _LANES
    total = pixels.to(relax.const(np.zeros((1, 1, channels), np.float32)))
    if whole:
        vectors = pixels[:, :whole].reshape(number, whole // _LANES, _LANES, channels)
        total = lanes_sum(vectors.sum(1, np.float32))
    for index in range(whole, count):
        total = total + pixels[:, index : index + 1]
    return total


_OPERATORS = {
    ("max", 2): R.nn.max_pool2d,
    ("max", 3): R.nn.max_pool3d,
    ("avg", 2): R.nn.avg_pool2d,
    ("avg", 3): R.nn.avg_pool3d,
}


@converter("MaxPool")
def _max_pool(call: Call, data: relax.Expr) -> relax.Expr:
    if len(call.outputs) != 1:
        raise UnsupportedError("the indices of the maxima are not imported")
    return _pooled("max", call, data)


@formula("AveragePool")
def _average_pool(call: Call, data: Any) -> relax.Expr:
    if any(each != 1 for each in call.integers("dilations")):
        raise UnsupportedError("an average with dilations is not imported")
    includes, kernel = bool(call.integer("count_include_pad")), call.integers("kernel_shape")
    if not _is_in_rows(call, data):
        window = window_of(call, data.shape[2:], kernel)
        if [*data.shape[2:]] == kernel and not any(window.padding) and {*window.strides} == {1}:
            return _mean(data)
        width = data.shape[-1] + window.padding[1] + window.padding[-1]
        is_small = len(kernel) == 2 and max(kernel) <= _LONGEST
        if is_small and window.strides[1] <= 2 and width <= _WIDEST:
            return _mean_of_columns(data, kernel, window, includes=includes)
    return _pooled("avg", call, data.expr, count_include_pad=includes)


def _is_in_rows(call: Call, data: Any) -> bool:
    """Tell whether a window is added up row by row.

    Windows of dequantized data are, although ONNX Runtime adds up float results in another order.
    So are windows of images of open sizes.
    """
    return (
        "order" in call.attributes
        or call.opset >= _OF_ROWS
        or bool(call.integer("ceil_mode") and call.integer("count_include_pad"))
        or is_open(data.shape[2:])
        or call.is_dequantized(data.expr)
    )


def _mean_of_columns(data: Any, kernel: list[int], window: Window, *, includes: bool) -> Any:
    """Return averages: the columns of a window are added up, then their sums."""
    sides = [*zip(window.padding[:2], window.padding[2:], strict=True)]
    counts: Any = np.pad(np.ones(data.shape[2:], np.float32), sides, constant_values=includes)
    sums, counts = np.pad(data, [(0, 0), (0, 0), *sides]), counts[None, None]
    for axis, size, stride in zip((2, 3), kernel, window.strides, strict=True):
        last = sums.shape[axis] - size + 1
        steps = [slice(first, first + last, stride) for first in range(size)]
        parts = [(*[slice(None)] * axis, step) for step in steps]
        sums, counts = (reduce(add, (each[part] for part in parts)) for each in (sums, counts))
    return sums / counts


def _pooled(kind: str, call: Call, data: relax.Expr, **extra: Any) -> relax.Expr:
    kernel = call.integers("kernel_shape")
    window = window_of(call, spec_of(data).shape[2:], kernel)
    is_row = len(kernel) == 1  # of an image
    if is_row:
        data, kernel, window = call.emit(R.expand_dims(data, [2])), [1, *kernel], window.as_row()
    rank, padding = len(kernel), window.padding
    operator = _OPERATORS.get((kind, rank))
    if operator is None:
        raise UnsupportedError(f"a window of {rank} dimensions is not imported")
    if extra.get("count_include_pad") and any(window.beyond):
        # Stated padding counts as elements; padding beyond it does not.
        sides = [0, 0, 0, 0]
        for axis, beyond in enumerate(window.beyond):
            sides += [padding[axis], padding[axis + rank] - beyond]
        data, extra = R.nn.pad(data, sides), {"count_include_pad": False}
        padding = [0] * rank + window.beyond
    result = operator(data, kernel, window.strides, padding, window.dilations, **extra)
    return R.squeeze(call.emit(result), [2]) if is_row else result
