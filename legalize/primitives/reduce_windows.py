"""reduce_windows as loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import primitive
from qnn_ops.reduce_windows import reduce_windows, window_counts
from qnn_ops.registry import Attrs, TensorSpec, spec_of

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "maximum": lambda total, new: T.Select(total >= new, total, new),
    "minimum": lambda total, new: T.Select(total <= new, total, new),
    "all": lambda total, new: T.And(total != 0, new != 0),
    "any": lambda total, new: T.Or(total != 0, new != 0),
}


@primitive(reduce_windows)
def _reduce_windows(
    builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr, start: relax.Expr
) -> relax.Expr:
    spec = spec_of(data)
    counts = window_counts(spec.shape, attrs.window, attrs.strides, attrs.dilations)
    function = _function(spec, attrs, counts)
    return call_loops(builder, "reduce_windows", function, [data, start], counts, spec.dtype)


def _function(spec: TensorSpec, attrs: Attrs, counts: tuple[int, ...]) -> tirx.PrimFunc:
    dtype = spec.dtype
    # In 64 bits, as TVM lets LLVM assume that int32 does not overflow.
    inner = "int64" if dtype.startswith(("int", "uint")) else dtype
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("reduce_windows")
        T.func_attr({"global_symbol": "reduce_windows", "tirx.noalias": True})
        data = T.arg("data", T.buffer(spec.shape, dtype))
        start = T.arg("start", T.buffer((1,), dtype))
        output = T.arg("output", T.buffer(counts, dtype))
        with _Nest(counts) as places:
            total = cell(dtype, start[0])
            with _Nest(attrs.window) as taps:
                index = [
                    place * int(stride) + tap * int(dilation)
                    for place, stride, tap, dilation in zip(
                        places.loops, attrs.strides, taps.loops, attrs.dilations, strict=True
                    )
                ]
                old, new = (T.cast(each, inner) for each in (total[0], data[tuple(index)]))
                put(total, T.cast(_COMBINED[attrs.reduction](old, new), dtype))
            T.buffer_store(output, total[0], places.loops)
    return builder.get()


class _Nest(ExitStack):
    """Loops of so many turns, one in another."""

    def __init__(self, turns: Any) -> None:
        super().__init__()
        self._turns = [int(each) for each in turns]
        self.loops: list[Any] = []

    def __enter__(self) -> _Nest:
        super().__enter__()
        self.loops = [self.enter_context(T.serial(each)) for each in self._turns]
        return self
