"""Operators that TVM's importer lacks or changes: parts, pads, sums, bounds and extremes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.ranges import clamped
from frontends.torch.call import CHECKS, OWN, Call
from frontends.torch.reader import operator_of, values_of
from qnn_ops import counted_indices
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import as_extent, is_open, sizes_of

CLAMP = "clamp.default"

CLAMPING = (
    *("hardtanh.default", "hardtanh_.default", "relu.default", "relu_.default"),
    *("relu6.default", "relu6_.default"),
)
"""Operators that XNNPACK fuses into the operator before them."""

EXTREMES = {"amax.default": R.max, "amin.default": R.min}
_PADS = ("constant_pad_nd.default", "pad.default")
_MODES = ("constant", "reflect", "replicate", "circular")


@OWN.of(CLAMP)
def clamp(call: Call) -> Any:
    """Bound values, from below first.

    TVM's importer uses infinity as a bound, which integers do not have, and exchanges bounds that
    cross.
    """
    data, *ends = call.values
    tensor, dtype = call.expr(data), call.dtype
    is_other = spec_of(tensor).dtype != dtype  # of integers, and a bound is a fraction
    do_cross = None not in ends and ends[0] > ends[1]
    if not is_other and dtype.startswith("float") and not do_cross:
        return call.by_tvm()
    tensor = call.emit(R.astype(tensor, dtype)) if is_other else tensor
    for end, bound in zip(ends, (R.maximum, R.minimum), strict=True):
        if end is not None:
            tensor = call.emit(bound(tensor, relax.const(np.asarray(end, dtype), dtype)))
    return tensor


@OWN.of("lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar", "eq.Scalar", "mul.Tensor", "div.Tensor")
def promoted(call: Call) -> Any:
    """Compute in float32 if integers meet a fraction or are divided, as PyTorch does.

    TVM's importer turns the fraction into an integer.
    """
    name, env, args = operator_of(call.node).replace("_.", "."), call.importer.env, call.node.args
    if name != "div.Tensor" and not any(isinstance(each, float) for each in args):
        return call.by_tvm(name)
    tensors = {each: env[each] for each in args if hasattr(each, "meta")}
    for each, tensor in tensors.items():
        if not spec_of(tensor).dtype.startswith("float"):
            env[each] = call.emit(R.astype(tensor, "float32"))
    result = call.by_tvm(name)
    env.update(tensors)
    return result


@OWN.of("ne.Tensor", "ne.Scalar")
def different(call: Call) -> Any:
    """Tell where numbers differ. NaN differs from every number; TVM's operator misses this."""
    result = promoted(call)
    for operand in call.importer.retrieve_args(call.node)[:2]:
        if isinstance(operand, relax.Expr) and spec_of(operand).dtype.startswith("float"):
            result = call.emit(R.logical_or(result, R.isnan(operand)))
    return result


@OWN.of(*EXTREMES)
def extreme(call: Call) -> relax.Expr:
    """Reduce by a maximum or a minimum; no axes mean all."""
    data, axes, keeps = call.values
    reduce = EXTREMES[operator_of(call.node)]
    return reduce(call.expr(data), [int(axis) for axis in axes] or None, keepdims=bool(keeps))


@OWN.of("add.Tensor", "add_.Tensor", "sub.Tensor", "sub_.Tensor")
def scaled_sum(call: Call) -> Any:
    """Add, or subtract, ``alpha`` times the second operand: TVM's importer ignores ``alpha``."""
    alpha = call.node.kwargs.get("alpha", 1)
    if alpha == 1:
        return promoted(call)
    operands = call.importer.retrieve_args(call.node)[:2]
    dtype = next(spec_of(each).dtype for each in operands if isinstance(each, relax.Expr))
    left, right = (
        each if isinstance(each, relax.Expr) else relax.const(np.asarray(each, dtype), dtype)
        for each in operands
    )
    scaled = call.emit(R.multiply(right, relax.const(np.asarray(alpha, dtype), dtype)))
    return (R.add if operator_of(call.node).startswith("add") else R.subtract)(left, scaled)


@CHECKS.of(*_PADS)
def check_pad(node: Any) -> None:
    """Check a pad.

    Raises:
        UnsupportedError: it crops and mirrors at once, or PyTorch has no such mode.
    """
    _, sizes, mode, _ = _parts(node)
    if mode not in _MODES:
        raise UnsupportedError(f"its mode must be one of {', '.join(_MODES)}, got {mode!r}")
    if mode != "constant" and min(sizes, default=0) < 0:
        raise UnsupportedError(f"a pad of the mode {mode!r} cannot crop, got {sizes}")


@OWN.of(*_PADS)
def pad(call: Call) -> relax.Expr:
    """Pad the last axes, the last one first; negative sizes crop."""
    name, sizes, mode, value = _parts(call.node)
    data = call.expr(name)
    shape = spec_of(data).shape
    pairs = [(sizes[index], sizes[index + 1]) for index in range(0, len(sizes), 2)]
    ends = [(0, 0)] * (len(shape) - len(pairs)) + pairs[::-1]
    axes = [axis for axis, pair in enumerate(ends) if min(pair) < 0]
    if axes:
        begins = [max(-ends[axis][0], 0) for axis in axes]
        stops = [shape[axis] - max(-ends[axis][1], 0) for axis in axes]
        data = call.emit(R.strided_slice(data, axes, begins, stops))
    widths = [max(size, 0) for pair in ends for size in pair]
    return R.nn.pad(data, widths, mode, value) if any(widths) else data


def _parts(node: Any) -> tuple[Any, list[int], str, float]:
    """Return the data, the sizes, the mode and the value of a pad."""
    data, sizes, *others = values_of(node)
    mode, value = others if operator_of(node) == "pad.default" else ("constant", *others)
    return data, [int(size) for size in sizes], str(mode), float(value or 0)


@OWN.of("select.int")
def select(call: Call) -> relax.Expr:
    """Take the elements at one index of an axis, and remove the axis."""
    data, axis, index = call.values
    tensor = call.expr(data)
    shape = spec_of(tensor).shape
    axis, begin = axis % len(shape), index % shape[axis]
    return R.squeeze(call.emit(R.strided_slice(tensor, [axis], [begin], [begin + 1])), [axis])


@OWN.of("narrow.default")
def narrow(call: Call) -> relax.Expr:
    """Take a range of indices along an axis."""
    data, axis, start, length = call.values
    tensor = call.expr(data)
    shape = spec_of(tensor).shape
    begin = int(start) + shape[axis] if start < 0 else int(start)
    return R.strided_slice(tensor, [axis % len(shape)], [begin], [begin + int(length)])


@OWN.of("slice.Tensor")
def sliced(call: Call) -> relax.Expr:
    """Take a range of indices along an axis; its ends may be open, or lie beyond the axis."""
    data, axis, *ends, step = call.values
    tensor = call.expr(data)
    shape = spec_of(tensor).shape
    axis %= len(shape)
    size = shape[axis]
    first, last = (None if each is None else _size(each, call.importer) for each in ends)
    end = size if last is None else clamped(last, size, 0, size)
    begin = 0 if first is None else clamped(first, size, 0, end)
    if step == 1 and (begin, end) == (0, size):
        return tensor
    bounds = [as_extent(begin)], [as_extent(end)]
    return R.strided_slice(tensor, [axis], *bounds, [step], assume_inbound=is_open([begin, end]))


def _size(value: Any, importer: Any) -> int:
    """Return a number, or the open size that a node computes."""
    (size,) = sizes_of([importer.env.get(value, value)])
    return size


@OWN.of("index.Tensor", "index_put.default", "index_put_.default")
def index(call: Call) -> Any:
    """Read or write the parts at tensors of indices."""
    data, indices = call.values[:2]
    shape = spec_of(call.expr(data)).shape
    sizes = {each: shape[axis] for axis, each in enumerate(indices) if each is not None}
    return _with_counted(call, sizes, from_end=True)


@OWN.of("gather.default", "index_select.default", "scatter.src", "scatter.value")
def along_axis(call: Call) -> Any:
    """Read or write elements at indices along an axis; negative indices are out of range."""
    data, axis, indices = call.values[:3]
    return _with_counted(call, {indices: spec_of(call.expr(data)).shape[axis]})


@OWN.of("embedding.default")
def embedding(call: Call) -> Any:
    """Take rows of a table."""
    table, indices = call.values[:2]
    return _with_counted(call, {indices: spec_of(call.expr(table)).shape[0]})


@OWN.of("take.default")
def take(call: Call) -> relax.Expr:
    """Take elements of the flattened data; -1 is its last element."""
    data, given = call.values
    flat = call.emit(R.reshape(call.expr(data), (-1,)))
    size = math.prod(spec_of(flat).shape)
    counted = counted_indices(call.expr(given), size, _source(call.node), from_end=True)
    return R.take(flat, call.emit(counted), 0, mode="clip")


def _with_counted(call: Call, sizes: Mapping[Any, int], *, from_end: bool = False) -> Any:
    """Convert by TVM's rule, and add its missing check: an index out of range ends a run."""
    kept, source = {each: call.expr(each) for each in sizes}, _source(call.node)
    for each, size in sizes.items():
        spec = spec_of(kept[each])
        if size and 0 not in spec.shape and spec.dtype != "bool":
            counted = counted_indices(kept[each], size, source, from_end)
            call.importer.env[each] = call.emit(counted)
    result = call.by_tvm()
    call.importer.env.update(kept)
    return result


@CHECKS.of("index.Tensor")
def check_index(node: Any) -> None:
    """Check the tensors of indices.

    Raises:
        UnsupportedError: they are not integers, or index several axes together.
    """
    indices = [each for each in node.args[1] if each is not None]
    dtypes = {str(each.meta["val"].dtype) for each in indices}
    if not dtypes <= {"torch.int64", "torch.int32"}:
        raise UnsupportedError("the tensors that index it must be integers")


def _source(node: Any) -> str:
    return f"{operator_of(node)} {node.name!r}"
