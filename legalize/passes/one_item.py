"""Turn models of an open batch into models of one item, if no item depends on another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax

from legalize.passes.channels_last_rules import attribute, operator_name
from legalize.passes.fold_qdq import FoldQdq
from qnn_ops import (
    dynamic_encoding,
    dynamic_quantize,
    quantized_conv2d,
    quantized_dense,
    quantized_matmul,
    quantized_pool2d,
)
from qnn_ops.onnxruntime import first_is_repeated
from qnn_ops.registry import attrs_of, operator_of, type_spec
from qnn_ops.sizes import Size, is_open
from qnn_ops.traits import Channels

BATCH = "qnn.batch"
"""The attribute of a ``main`` of one item that is to run for a batch: the batch's name."""

Shape = tuple[int, ...]


def OneItem() -> tvm.transform.Pass:
    """Replace a model of an open batch by one for an item, if a loop over items computes the same.

    ``OverBatch`` writes the loop. Layers of images reuse their weights for all pixels of an image,
    so a batch of several gains nothing; and an image stays in the caches from layer to layer. Every
    pass sees known sizes. A model of dense layers alone stays: items share the weights.
    """
    return tvm.transform.module_pass(_one_item, opt_level=0, name="OneItem")


def _one_item(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
    main = mod["main"]
    batch = _batch(main)
    if batch is None or len(mod.functions) > 1 or not _has_images(main):
        return mod
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come when the model is lowered
        folded = FoldQdq()(mod)
    if not _keeps_items(folded["main"], batch):
        return mod
    one = relax.transform.BindSymbolicVars({batch.expr: 1}, "main")(mod)
    one["main"] = one["main"].with_attr(BATCH, str(batch))
    return one


def _batch(main: relax.Function) -> Size | None:
    """Return the size of axis 0 of all inputs, if it is a variable, and no other size is open."""
    firsts = [spec.shape[:1] for spec in _specs([param.ty for param in main.params])]
    first: Any = firsts[0][0] if firsts and firsts[0] else None
    is_variable = isinstance(first, Size) and isinstance(first.expr, tvm.tirx.Var)
    return first if is_variable and all(each == (first,) for each in firsts) else None


def _has_images(main: relax.Function) -> bool:
    names = {quantized_conv2d.op.name, quantized_pool2d.op.name, "relax.nn.conv2d"}
    return any(operator_name(value) in names for value in _values(main))


def _values(main: relax.Function) -> list[relax.Expr]:
    return [binding.value for block in main.body.blocks for binding in block.bindings]


def _keeps_items(main: relax.Function, batch: Size) -> bool:
    """Tell whether each item of the results depends on the same item of the inputs only."""

    def has_items(ty: relax.Type, *, needed: bool) -> bool:
        """Tell whether a tensor has the items along axis 0, or none, if that may be."""
        return all(
            spec.shape[:1] == (batch,) and not is_open(spec.shape[1:])
            if is_open(spec.shape) or needed
            else True
            for spec in _specs([ty])
        )

    for value in _values(main):
        depends = bool(relax.analysis.free_vars(value))
        if not has_items(value.ty, needed=depends):
            return False
        if depends and isinstance(value, relax.Call):
            rule = _RULES.get(_key(value))
            if rule is None or not rule(value):
                return False
    return has_items(main.ret_ty, needed=True)


def _specs(types: Sequence[relax.Type]) -> list[Any]:
    fields = [field for ty in types for field in getattr(ty, "fields", [ty])]
    return [type_spec(field, "a tensor") for field in fields if isinstance(field, relax.TensorType)]


def _key(call: relax.Call) -> Any:
    operator = operator_of(call)
    if operator is None or operator.op.name in _RULES:
        return operator_name(call)
    return operator.traits.channels


def _shapes(call: relax.Call) -> list[Shape]:
    return [spec.shape for spec in _specs([arg.ty for arg in call.args])]


def _elementwise(call: relax.Call) -> bool:
    shapes, rank = _shapes(call), len(type_spec(call.ty, "a result").shape)
    if any(len(shape) != rank for shape in shapes if is_open(shape)):
        return False
    # The order of ONNX Runtime's operands depends on the sizes.
    alone, several = ([_of(shape, count) for shape in shapes] for count in (1, 2))
    return len(shapes) != 2 or first_is_repeated(*alone) == first_is_repeated(*several)


def _of(shape: Shape, count: int) -> Shape:
    return (count, *shape[1:]) if is_open(shape) else shape


def _first_only(call: relax.Call) -> bool:
    return is_open(_shapes(call)[0]) and not any(map(is_open, _shapes(call)[1:]))


def _all(call: relax.Call) -> bool:
    return all(map(is_open, _shapes(call)))


def _along_axis(call: relax.Call) -> bool:
    axis = attribute(call, "axis")
    return axis is not None and _all(call) and int(axis) % len(_shapes(call)[0]) != 0


def _reduced(call: relax.Call) -> bool:
    axes = attribute(call, "axis")
    if axes is None:
        return False
    every = [axes] if isinstance(axes, int) else list(axes)
    return bool(every) and all(int(axis) % len(_shapes(call)[0]) for axis in every)


def _layout(call: relax.Call) -> bool:
    return str(attribute(call, "layout")).startswith("N")


def _convolution(call: relax.Call) -> bool:
    layouts = attribute(call, "data_layout"), attribute(call, "out_layout") or "N"
    data, kernel, *others = _shapes(call)
    weights = [kernel, *others[:1]]
    is_plain = is_open(data) and not any(map(is_open, weights)) and all(map(is_open, others[1:]))
    return is_plain and all(str(layout).startswith("N") for layout in layouts)


def _dense(call: relax.Call) -> bool:
    return _first_only(call) and len(_shapes(call)[0]) > 1


def _matmul(call: relax.Call) -> bool:
    left, right = _shapes(call)[:2]
    if not is_open(right):
        return is_open(left) and len(left) > max(len(right), 2) - 1 and len(left) > 1
    return is_open(left) and len(left) == len(right) > 2


def _permuted(call: relax.Call) -> bool:
    axes = call.attrs.axes
    return bool(axes) and int(axes[0]) == 0


_RULES: dict[Channels | str, Callable[[relax.Call], bool]] = {
    Channels.ANYWHERE: _elementwise,
    Channels.ANYWHERE_IN_FIRST: _first_only,
    Channels.AXIS: _along_axis,
    Channels.REDUCED_AXES: _reduced,
    Channels.PAD_WIDTH: lambda call: not any(map(int, attribute(call, "pad_width")[:2])),
    Channels.LAYOUT: _layout,
    Channels.CONVOLUTION: _convolution,
    quantized_dense.op.name: _dense,
    quantized_matmul.op.name: _matmul,
    dynamic_encoding.op.name: lambda call: not attrs_of(call).whole,
    dynamic_quantize.op.name: _all,
    "relax.concat": _along_axis,
    "relax.nn.softmax": _along_axis,
    "relax.nn.conv2d": _convolution,
    "relax.nn.avg_pool2d": _layout,
    "relax.nn.max_pool2d": _layout,
    "relax.nn.adaptive_avg_pool2d": _layout,
    "relax.mean": _reduced,
    "relax.max": _reduced,
    "relax.matmul": _matmul,
    "relax.permute_dims": _permuted,
    # These keep the order of elements.
    "relax.reshape": lambda call: True,
    "relax.astype": lambda call: True,
    **{
        f"relax.{name}": _elementwise
        for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "clip")
    },
    **{f"relax.{name}": _elementwise for name in ("sigmoid", "tanh", "nn.relu", "nn.silu")},
}
"""Whether a call keeps items apart, by the trait of channels or by the operator's name.

Tensors that depend on the input have the items along axis 0, and so does the result. Other tensors
are constants.
"""
