"""Turn models of an open batch into models of one item, if no item depends on another."""

import warnings
from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

from legalize.kernels.separate import separates
from legalize.passes.fold_qdq import FoldQdq
from legalize.passes.rewriter import Facts
from legalize.qdq.group import operator_name
from qnn_ops import quantized_conv2d, quantized_pool2d
from qnn_ops.dialect.registry import type_spec
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
        if depends and isinstance(value, relax.Call) and not separates(value, 1):
            return False
    return has_items(main.ret_ty, needed=True)


def _specs(types: Sequence[relax.Type]) -> list[Any]:
    fields = [field for ty in types for field in getattr(ty, "fields", [ty])]
    return [type_spec(field, "a tensor") for field in fields if isinstance(field, relax.TensorType)]
