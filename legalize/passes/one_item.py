"""Turn models of an open batch into models of one item, if no item depends on another."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax

from legalize.kernels.separate import separates, tensors_of
from legalize.passes.fold_qdq import FoldQdq
from legalize.passes.rewriter import Facts
from legalize.qdq.group import operator_name
from qnn_ops import quantized_conv2d, quantized_pool2d
from qnn_ops.dialect.registry import operator_of, type_spec
from qnn_ops.dialect.sizes import Size, is_open

BATCH = "qnn.batch"
"""The attribute of a ``main`` of one item that runs for a batch. Its value is the batch's name."""


def OneItem() -> tvm.transform.Pass:
    """Replace a model of an open batch by one for an item, if a loop over items computes the same.

    ``OverBatch`` writes the loop. Layers of images reuse their weights for all pixels of an image,
    so a batch of several images gains nothing. An image stays in the caches from layer to layer,
    and every pass sees known sizes. A model of only dense layers stays as it is, because its items
    share the weights.
    """
    return tvm.transform.module_pass(_one_item, opt_level=0, name="OneItem")


def _one_item(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
    main = mod["main"]
    batch = _batch(main)
    if batch is None or len(mod.functions) > 1 or not _has_images(main):
        return mod
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the lowering of the model emits them
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
    return any(operator_name(value) in names for value in Facts(main).values.values())


def _keeps_items(main: relax.Function, batch: Size) -> bool:
    """Tell whether each item of the results depends on the same item of the inputs only."""

    def has_items(ty: relax.Type, *, needed: bool) -> bool:
        """Tell whether a tensor has the items along axis 0, or, unless ``needed``, no items."""
        return all(
            spec.shape[:1] == (batch,) and not is_open(spec.shape[1:])
            if is_open(spec.shape) or needed
            else True
            for spec in _specs([ty])
        )

    for value in Facts(main).values.values():
        depends = bool(relax.analysis.free_vars(value))
        if not has_items(value.ty, needed=depends):
            return False
        if depends and isinstance(value, relax.Call) and not _separates(value):
            return False
    return has_items(main.ret_ty, needed=True)


def _specs(types: Sequence[relax.Type]) -> list[Any]:
    fields = [field for ty in types for field in getattr(ty, "fields", [ty])]
    return [type_spec(field, "a tensor") for field in fields if isinstance(field, relax.TensorType)]


def _separates(call: relax.Call) -> bool:
    if operator_of(call) is not None:
        return separates(call, 1)
    rule = _RULES.get(operator_name(call))
    return rule is not None and rule(call)


def _shapes(call: relax.Call) -> list[Any]:
    return [spec.shape for spec in tensors_of(call)]


def _elementwise(call: relax.Call) -> bool:
    rank = len(type_spec(call.ty, "a result").shape)
    return all(len(shape) == rank for shape in _shapes(call) if is_open(shape))


def _along_axis(call: relax.Call) -> bool:
    shapes = _shapes(call)
    return all(map(is_open, shapes)) and int(call.attrs.axis or 0) % len(shapes[0]) != 0


def _reduced(call: relax.Call) -> bool:
    axes, rank = call.attrs.axis, len(_shapes(call)[0])
    return bool(axes) and all(int(axis) % rank for axis in axes)


def _layout(call: relax.Call) -> bool:
    return str(call.attrs.layout).startswith("N")


def _convolution(call: relax.Call) -> bool:
    layouts = call.attrs.data_layout, call.attrs.out_layout or "N"
    return all(str(layout).startswith("N") for layout in layouts) and _first_only(call)


def _first_only(call: relax.Call) -> bool:
    first, *others = _shapes(call)
    return is_open(first) and not any(map(is_open, others))


def _matmul(call: relax.Call) -> bool:
    left, right = _shapes(call)
    return _first_only(call) and len(left) > 1 and len(right) == 2


def _permuted(call: relax.Call) -> bool:
    axes = call.attrs.axes
    return bool(axes) and int(axes[0]) == 0


def _always(_call: relax.Call) -> bool:
    return True


_RULES: dict[str, Callable[[relax.Call], bool]] = {
    f"relax.{name}": rule
    for rule, names in (
        (_always, ("reshape", "astype", "clip", "sigmoid", "tanh", "nn.relu", "nn.silu")),
        (_elementwise, ("add", "subtract", "multiply", "divide", "maximum", "minimum")),
        (_along_axis, ("concat", "nn.softmax")),
        (_reduced, ("mean", "max")),
        (_layout, ("nn.avg_pool2d", "nn.max_pool2d", "nn.adaptive_avg_pool2d")),
        (_convolution, ("nn.conv2d",)),
        (_matmul, ("matmul",)),
        (_permuted, ("permute_dims",)),
    )
    for name in names
}
"""Conditions for a Relax call to keep items separate, by the operator's name.

Tensors that depend on the input have the items along axis 0. So does the result.
"""
