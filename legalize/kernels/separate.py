"""Finds operators whose rows, or images, do not depend on each other."""

from collections.abc import Callable
from typing import Any

from tvm import relax

from legalize.qdq.group import operator_name
from qnn_ops import (
    dynamic_encoding,
    dynamic_quantize,
    quantized_dense,
    quantized_matmul,
)
from qnn_ops.arithmetic.onnxruntime import first_is_repeated
from qnn_ops.dialect.registry import TensorSpec, attrs_of, operator_of, type_spec
from qnn_ops.dialect.sizes import is_open
from qnn_ops.dialect.traits import Channels
from qnn_ops.quantized.blockwise_dense import blockwise_dense

Shape = tuple[Any, ...]


def leading_axes(call: relax.Call) -> int | None:
    """Return how many leading axes contain a result's open sizes, if indices are separate.

    None if an element of the result depends on other indices of these axes, too.
    """
    result = type_spec(call.ty, "a result").shape
    axes = max((axis + 1 for axis, size in enumerate(result) if is_open([size])), default=0)
    return axes if axes and separates(call, axes) else None


def separates(call: relax.Call, axes: int) -> bool:
    """Tell whether each index of the result's first axes needs only the same index of operands.

    Operands without open sizes are the same for all indices.

    Args:
        call: a call of an operator of the dialect or of Relax.
        axes: the number of these axes; all open sizes are in them.
    """
    if not isinstance(call.ty, relax.TensorType):
        return False
    result = type_spec(call.ty, "a result").shape
    shapes = [spec.shape for spec in tensors_of(call)]
    opened = [shape for shape in shapes if is_open(shape)]
    if is_open(result[axes:]) or not opened:
        return False
    if any(shape[:axes] != result[:axes] or is_open(shape[axes:]) for shape in opened):
        return False
    rule, operator = _RULES.get(operator_name(call)), operator_of(call)
    if rule is None and operator is not None:
        rule = _RULES.get(operator.traits.channels)
    return rule is not None and rule(call, shapes, result, axes)


def tensors_of(call: relax.Call) -> list[TensorSpec]:
    """Return shape and dtype of each tensor that a call takes."""
    types = [field for arg in call.args for field in getattr(arg.ty, "fields", [arg.ty])]
    return [type_spec(ty, "an operand") for ty in types if isinstance(ty, relax.TensorType)]


_Rule = Callable[[relax.Call, list[Shape], Shape, int], bool]


def _attrs(call: relax.Call) -> Any:
    return call.attrs if operator_of(call) is None else attrs_of(call)


def _always(_call: relax.Call, _shapes: list[Shape], _result: Shape, _axes: int) -> bool:
    return True


def _elementwise(call: relax.Call, shapes: list[Shape], result: Shape, axes: int) -> bool:
    rank = len(result)
    for shape in shapes:
        outer = shape[: max(len(shape) - rank + axes, 0)]
        is_alike = len(shape) == rank if is_open(shape) else all(size == 1 for size in outer)
        if not is_alike:
            return False
    if operator_of(call) is None or len(shapes) != 2:
        return True
    # The order of ONNX Runtime's operands depends on the sizes.
    alone, several = ([_some(shape, axes, count) for shape in shapes] for count in (1, 2))
    return first_is_repeated(*alone) == first_is_repeated(*several)


def _some(shape: Shape, axes: int, count: int) -> tuple[Any, ...]:
    return (*(count,) * axes, *shape[axes:]) if is_open(shape) else tuple(shape)


def _first_only(_call: relax.Call, shapes: list[Shape], _result: Shape, _axes: int) -> bool:
    return is_open(shapes[0]) and not any(map(is_open, shapes[1:]))


def _all(_call: relax.Call, shapes: list[Shape], _result: Shape, _axes: int) -> bool:
    return all(map(is_open, shapes))


def _along_axis(call: relax.Call, shapes: list[Shape], result: Shape, axes: int) -> bool:
    axis = int(_attrs(call).axis or 0)
    return all(map(is_open, shapes)) and axis % len(result) >= axes


def _reduced(call: relax.Call, shapes: list[Shape], _result: Shape, axes: int) -> bool:
    reduced = _attrs(call).axis
    every = [reduced] if isinstance(reduced, int) else list(map(int, reduced or ()))
    return bool(every) and all(axis % len(shapes[0]) >= axes for axis in every)


def _padded(call: relax.Call, _shapes: list[Shape], _result: Shape, axes: int) -> bool:
    return not any(attrs_of(call).pad_width[: 2 * axes])


def _layout(call: relax.Call, _shapes: list[Shape], _result: Shape, axes: int) -> bool:
    return axes == 1 and str(_attrs(call).layout).startswith("N")


def _permuted(call: relax.Call, _shapes: list[Shape], _result: Shape, axes: int) -> bool:
    return list(map(int, call.attrs.axes or ()))[:axes] == list(range(axes))


def _convolution(call: relax.Call, shapes: list[Shape], _result: Shape, axes: int) -> bool:
    attrs = _attrs(call)
    data, kernel, *others = shapes
    is_plain = is_open(data) and not any(map(is_open, [kernel, *others[:1]]))
    layouts = attrs.data_layout, attrs.out_layout or "N"
    is_first = all(str(layout).startswith("N") for layout in layouts)
    return axes == 1 and is_plain and is_first and all(map(is_open, others[1:]))


def _matmul(_call: relax.Call, shapes: list[Shape], _result: Shape, axes: int) -> bool:
    left, right = shapes
    if is_open(right):
        return is_open(left) and axes < len(left) - 1 and len(left) == len(right)
    return is_open(left) and axes < len(left) and len(right) == 2


def _encoding(call: relax.Call, shapes: list[Shape], _result: Shape, axes: int) -> bool:
    return not attrs_of(call).whole and axes < len(shapes[0])


def _by_encoding(_call: relax.Call, shapes: list[Shape], result: Shape, axes: int) -> bool:
    data, encoding = shapes
    return axes < len(result) and is_open(data) and (is_open(encoding) or len(encoding) == 1)


def _dense(call: relax.Call, shapes: list[Shape], result: Shape, axes: int) -> bool:
    return axes < len(result) and _first_only(call, shapes, result, axes)


def _by_matrix(call: relax.Call, shapes: list[Shape], result: Shape, axes: int) -> bool:
    return len(shapes[1]) == 2 and _dense(call, shapes, result, axes)


_RELAX: tuple[tuple[_Rule, tuple[str, ...]], ...] = (
    (_always, ("reshape", "astype", "clip", "sigmoid", "tanh", "nn.relu", "nn.silu")),
    (_elementwise, ("add", "subtract", "multiply", "divide", "maximum", "minimum")),
    (_along_axis, ("concat", "nn.softmax")),
    (_reduced, ("mean", "max")),
    (_layout, ("nn.avg_pool2d", "nn.max_pool2d", "nn.adaptive_avg_pool2d")),
    (_convolution, ("nn.conv2d",)),
    (_by_matrix, ("matmul",)),
    (_permuted, ("permute_dims",)),
)
_RULES: dict[Channels | str, _Rule] = {
    **{f"relax.{name}": rule for rule, names in _RELAX for name in names},
    Channels.ANYWHERE: _elementwise,
    Channels.ANYWHERE_IN_FIRST: _first_only,
    Channels.AXIS: _along_axis,
    Channels.REDUCED_AXES: _reduced,
    Channels.PAD_WIDTH: _padded,
    Channels.LAYOUT: _layout,
    Channels.CONVOLUTION: _convolution,
    quantized_dense.op.name: _dense,
    blockwise_dense.op.name: _dense,
    quantized_matmul.op.name: _matmul,
    dynamic_encoding.op.name: _encoding,
    dynamic_quantize.op.name: _by_encoding,
}
"""Conditions by an operator's name, or by its trait of channels."""
