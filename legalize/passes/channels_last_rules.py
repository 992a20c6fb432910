"""Rules that make operators channels last, in a table by the operator's name."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tvm
from tvm import relax

from legalize.qdq.group import operator_name
from qnn_ops import quantized_add, quantized_softmax
from qnn_ops.arithmetic.onnxruntime import first_is_repeated, is_onnxruntime
from qnn_ops.dialect.layouts import permutation
from qnn_ops.dialect.registry import as_const, attrs_of, constant_of, operator_of, with_attrs
from qnn_ops.dialect.traits import Channels
from qnn_ops.modules import Rules

TO_LAST = permutation("NCHW", "NHWC")
TO_FIRST = permutation("NHWC", "NCHW")

_LAYOUTS: dict[Channels | str, tuple[str, ...]] = {
    Channels.CONVOLUTION: ("data_layout", "out_layout"),
    Channels.LAYOUT: ("layout",),
    # Relax's own loops over floats become vector code only with the channels last, too.
    "relax.nn.conv2d": ("data_layout", "out_layout"),
}
# The operators that are worth a transpose, and their layout attributes.

Last = Callable[[relax.Expr], relax.Expr]
"""Returns an operand with its channels last."""

Rule = Callable[[relax.Call, Last], "relax.Expr | None"]
"""Returns the call with channels last; None if it has to stay as it is.

If the result has fewer dimensions than an image, it equals the original call's.
"""

RULES = Rules[Channels | str, Rule]()
"""Rules by the trait of channels of the dialect's operators, or by a Relax operator's name."""


def rule_of(value: relax.Expr) -> Rule | None:
    """Return the rule for the operator that ``value`` calls; None if it stays as it is."""
    return RULES.get(_key(value))


def layouts_of(value: relax.Expr) -> tuple[str, ...]:
    """List the attributes of the call ``value`` that are layouts, if worth a transpose."""
    return _LAYOUTS.get(_key(value), ())


def _key(value: relax.Expr) -> Channels | str:
    operator = operator_of(value)
    return operator_name(value) if operator is None else operator.traits.channels


def attribute(call: relax.Call, name: str) -> Any:
    """Return an attribute of a call of the dialect or of Relax."""
    return call.attrs[name] if operator_of(call) is not None else getattr(call.attrs, name)


def static_shape(expr: relax.Expr) -> tuple[int, ...] | None:
    """Return the shape of a tensor, or None if it is no tensor or its shape is not known."""
    shape = getattr(expr.ty, "shape", None)
    if not isinstance(shape, relax.ShapeExpr):
        return None
    if not all(isinstance(size, tvm.tirx.IntImm) for size in shape.values):
        return None
    return tuple(int(size) for size in shape.values)


def _relax(*names: str) -> list[str]:
    return [f"relax.{name}" for name in names]


def _axis(axis: Any) -> int:
    return TO_FIRST[int(axis) % len(TO_FIRST)]


def _in_order(axes: Iterable[int]) -> bool:
    """Tell whether axes keep their order when the channels become last."""
    moved = [_axis(axis) for axis in axes]
    return moved == sorted(moved)


def _changed(call: relax.Call, operands: list[relax.Expr], **changes: Any) -> relax.Call:
    """Return the call with other operands and some changed attributes."""
    if operator_of(call) is not None:
        attrs = with_attrs(call, **changes).attrs
    elif changes:
        info = type(call.attrs).__tvm_ffi_type_info__
        fields = {field.name: getattr(call.attrs, field.name) for field in info.fields}
        attrs = tvm.ir.make_node(info.type_key, **{**fields, **changes})
    else:
        attrs = call.attrs
    return relax.Call(call.op, operands, attrs)


@RULES.of(Channels.CONVOLUTION)
def _convolution(call: relax.Call, last: Last) -> relax.Expr:
    attrs = attrs_of(call)
    data, kernel, *others = call.args
    if len(others) == 2 and attrs.out_layout == "NCHW":
        others[1] = last(others[1])
    kernel_layout = attrs.kernel_layout
    array = constant_of(kernel)
    if array is not None:
        array = np.ascontiguousarray(array.transpose(permutation(kernel_layout, "OHWI")))
        kernel, kernel_layout = as_const(array), "OHWI"
    return _changed(
        call,
        [last(data) if attrs.data_layout == "NCHW" else data, kernel, *others],
        data_layout="NHWC",
        out_layout="NHWC",
        kernel_layout=kernel_layout,
    )


@RULES.of(Channels.LAYOUT, *_relax("image.resize2d"))
def _window(call: relax.Call, last: Last) -> relax.Expr | None:
    if attribute(call, "layout") != "NCHW":
        return None
    return _changed(call, [last(call.args[0]), *call.args[1:]], layout="NHWC")


@RULES.of(*_relax("nn.avg_pool2d", "nn.max_pool2d", "nn.adaptive_avg_pool2d"))
def _float_pool(call: relax.Call, last: Last) -> relax.Expr | None:
    if {call.attrs.layout, call.attrs.out_layout} != {"NCHW"}:
        return None
    return _changed(call, [last(call.args[0])], layout="NHWC", out_layout="NHWC")


@RULES.of(*_relax("nn.conv2d"))
def _float_convolution(call: relax.Call, last: Last) -> relax.Expr | None:
    data, kernel = call.args
    array = constant_of(kernel)
    if array is None or {call.attrs.data_layout, call.attrs.out_layout} != {"NCHW"}:
        return None
    array = array.transpose(permutation(call.attrs.kernel_layout, "HWIO"))
    return _changed(
        call,
        [last(data), as_const(np.ascontiguousarray(array))],
        data_layout="NHWC",
        out_layout="NHWC",
        kernel_layout="HWIO",
    )


@RULES.of(
    Channels.ANYWHERE,
    *_relax("abs", "astype", "ceil", "clip", "erf", "exp", "floor", "log", "negative", "round"),
    *_relax("rsqrt", "sigmoid", "sign", "sqrt", "square", "tanh"),
    *_relax("nn.gelu", "nn.leakyrelu", "nn.relu", "nn.silu"),
    *_relax("add", "divide", "maximum", "minimum", "multiply", "power", "subtract", "where"),
    *_relax("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
)
def _elementwise(call: relax.Call, last: Last) -> relax.Expr | None:
    operands = [last(operand) for operand in call.args]
    if operator_of(call) is quantized_add and is_onnxruntime(attrs_of(call)):
        return _sum(call, operands)
    return _changed(call, operands)


def _sum(call: relax.Call, operands: list[relax.Expr]) -> relax.Expr | None:
    """Return a sum of ONNX Runtime, whose operands' order depends on their innermost axes."""
    swaps, swaps_now = (
        first_is_repeated(*(static_shape(each) or () for each in pair))
        for pair in (call.args, operands)
    )
    if swaps == swaps_now:
        return _changed(call, operands)
    operands = operands[::-1]
    if first_is_repeated(*(static_shape(each) or () for each in operands)) == swaps:
        return None  # neither order of the two is right
    attrs = attrs_of(call)
    sides = ("lhs", "rhs"), ("rhs", "lhs")
    exchanged = {
        f"{new}_{name}": getattr(attrs, f"{old}_{name}")
        for new, old in sides
        for name in ("scale", "zero_point")
    }
    return _changed(call, operands, **exchanged)


@RULES.of(Channels.ANYWHERE_IN_FIRST)
def _first_operand(call: relax.Call, last: Last) -> relax.Expr:
    return _changed(call, [last(call.args[0]), *call.args[1:]])


@RULES.of(
    Channels.AXIS,
    *_relax("concat", "nn.log_softmax", "nn.prelu", "nn.softmax"),
)
def _along_an_axis(call: relax.Call, last: Last) -> relax.Expr | None:
    data = call.args[0]
    # Relax may concatenate flattened tensors, and hold the tensors in one variable.
    axis = attribute(call, "axis")
    if axis is None or not isinstance(data.ty, relax.TensorType | relax.TupleType):
        return None
    if isinstance(data.ty, relax.TupleType) and not isinstance(data, relax.Tuple):
        return None
    is_softmax = operator_of(call) is quantized_softmax
    if is_softmax and is_onnxruntime(attrs_of(call)) and _axis(axis) != len(TO_LAST) - 1:
        return None  # ONNX Runtime's are along the last axis
    return _changed(call, [last(data), *call.args[1:]], axis=_axis(axis))


@RULES.of(Channels.PAD_WIDTH, *_relax("nn.pad"))
def _pad(call: relax.Call, last: Last) -> relax.Expr:
    widths = attribute(call, "pad_width")
    moved = [int(widths[2 * axis + side]) for axis in TO_LAST for side in (0, 1)]
    return _changed(call, [last(call.args[0])], pad_width=moved)


@RULES.of(Channels.REDUCED_AXES, *_relax("argmax", "argmin", "max", "mean", "min", "sum"))
def _reduction(call: relax.Call, last: Last) -> relax.Expr | None:
    axis, keepdims = attribute(call, "axis"), attribute(call, "keepdims")
    if axis is None:
        return None
    is_one = isinstance(axis, int)
    reduced = sorted(int(item) % len(TO_LAST) for item in ([axis] if is_one else axis))
    kept = [index for index in range(len(TO_LAST)) if index not in reduced]
    # Floats are summed in the same order, and the remaining axes keep their order.
    if not _in_order(reduced) or not (keepdims or _in_order(kept)):
        return None
    axes = _axis(axis) if is_one else [_axis(item) for item in axis]
    return _changed(call, [last(call.args[0])], axis=axes)


@RULES.of(*_relax("strided_slice"))
def _slice(call: relax.Call, last: Last) -> relax.Expr | None:
    data, axes, *bounds = call.args
    if not isinstance(axes, relax.Tuple):
        return None
    moved = relax.Tuple([relax.prim_value(_axis(axis)) for axis in axes.fields])
    return _changed(call, [last(data), moved, *bounds])


@RULES.of(*_relax("take"))
def _take(call: relax.Call, last: Last) -> relax.Expr | None:
    axis, indices = call.attrs.axis, static_shape(call.args[1])
    if axis is None or indices is None or len(indices) != 1:
        return None
    return _changed(call, [last(call.args[0]), call.args[1]], axis=_axis(axis))
