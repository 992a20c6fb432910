"""float_matmul as loops: Relax's own may fuse products with their sums."""

from __future__ import annotations

from math import prod

from tvm import relax, tirx
from tvm.relax import op as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.float_sums import Sums
from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.float_conv2d import ORDERS, order_of
from qnn_ops.matmul import float_matmul
from qnn_ops.registry import Attrs, spec_of


@primitive(float_matmul)
def _float_matmul(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    if order_of(attrs) != ORDERS[0]:
        return R.matmul(lhs, rhs)
    (*left, rows, depth), (*right, _, columns) = spec_of(lhs).shape, spec_of(rhs).shape
    rank = max(len(left), len(right))
    pairs = [[1] * (rank - len(each)) + each for each in (left, right)]
    outer = [max(sizes) if 0 not in sizes else 0 for sizes in zip(*pairs, strict=True)]

    def whole(value: relax.Expr, own: list[int], matrix: tuple[int, int]) -> relax.Expr:
        if own != outer:
            value = builder.emit(R.broadcast_to(value, (*outer, *matrix)))
        return builder.emit(R.reshape(value, (prod(outer), *matrix)))

    function = _function(prod(outer), rows, depth, columns)
    given = [whole(lhs, left, (rows, depth)), whole(rhs, right, (depth, columns))]
    shape = (prod(outer), rows, columns)
    result = call_loops(builder, "float_matmul", function, given, shape, "float32")
    return R.reshape(builder.emit(result), (*outer, rows, columns))


def _function(count: int, rows: int, depth: int, columns: int) -> tirx.PrimFunc:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("float_matmul")
        T.func_attr({"global_symbol": "float_matmul", "tirx.noalias": True})
        shapes = {"lhs": (rows, depth), "rhs": (depth, columns), "output": (rows, columns)}
        lhs, rhs, output = (
            T.arg(name, T.buffer((count, *shape), "float32")) for name, shape in shapes.items()
        )
        with T.grid(count, rows) as (number, row):
            sums = Sums(columns)
            with T.serial(depth) as k:
                sums.add(lhs[number, row, k], lambda column: rhs[number, k, column])
            with T.serial(columns) as column:
                T.buffer_store(output, sums[column], [number, row, column])
    return builder.get()
