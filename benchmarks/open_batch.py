"""Networks whose batch is open, made of those of one picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax, tirx

from qnn_ops.errors import QnnError


def with_open_batch(mod: tvm.IRModule, params: Mapping[str, Any]) -> tvm.IRModule:
    """Return a network for any number of pictures.

    Args:
        mod: a network of one picture: axis 0 of each tensor that depends on the inputs is 1.
        params: its constants.

    Raises:
        QnnError: if it does more than call operators.
    """
    main = relax.transform.BindParams("main", dict(params))(mod)["main"]
    batch = tirx.Var("batch", "int64")
    known: dict[Any, relax.Expr] = {}

    def opened(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([opened(field) for field in expr.fields])
        if isinstance(expr, relax.ShapeExpr):
            return relax.ShapeExpr([batch, *list(expr.values)[1:]])
        if isinstance(expr, relax.TupleGetItem):
            return relax.TupleGetItem(opened(expr.tuple_value), expr.index)
        if isinstance(expr, relax.Call):
            return relax.Call(expr.op, [opened(each) for each in expr.args], expr.attrs)
        return known.get(expr, expr) if isinstance(expr, relax.Var) else expr

    for each in main.params:
        ty = relax.TensorType([batch, *list(each.ty.shape)[1:]], each.ty.dtype)
        known[each] = relax.Var(each.name, ty)
    builder = relax.BlockBuilder()
    with builder.function("main", [known[each] for each in main.params]):
        for block in main.body.blocks:
            for binding in block.bindings:
                if not isinstance(binding, relax.VarBinding):
                    raise QnnError("the network does more than call operators")
                known[binding.var] = builder.emit(opened(binding.value))
        builder.emit_func_output(opened(main.body.body))
    return builder.get()
