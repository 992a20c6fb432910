"""Let a turn of a loop write its row of the outputs, and leave the other rows as they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.script.ir_builder import tirx as T

from legalize.loop_functions import add_function
from legalize.passes.rewriter import Facts
from legalize.qdq.group import operator_name
from legalize.written import new_function
from qnn_ops.dialect.registry import constant_of, spec_of
from qnn_ops.dialect.sizes import is_open

_EQUAL, _WHERE = "relax.equal", "relax.where"
_RANK = 3


def write_rows(mod: tvm.IRModule) -> tvm.IRModule:
    """Rewrite ``main``, whose parameters are a loop's variables and whose results are their values.

    An importer puts the output of a step among those of all: where the number of a row is that of
    the step, it takes the output, elsewhere the old row. This reads and writes all rows in each
    step. The function that replaces it writes one row of the variable itself, if nothing else
    reads that.
    """
    main = mod["main"]
    uses, values = Facts(main).uses, relax.analysis.get_var2val(main)
    result = values.get(main.body.body, main.body.body)
    if not isinstance(result, relax.Tuple):
        return mod
    writer = _Writer(mod)
    writer.own = {
        values[field]: variable
        for field, variable in zip(result.fields, main.params, strict=False)
        if field in values and uses[variable] == 1
    }
    writer.builder_.update_func(mod.get_global_var("main"), writer.visit_expr(main))
    return relax.transform.DeadCodeElimination()(writer.builder_.finalize())


@mutator
class _Writer(PyExprMutator):
    own: Mapping[Any, Any]
    """The variable of a loop, by the call that makes its new value, if nothing else reads it."""

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a call."""
        rebuilt, old = self.visit_expr_post_order(call), self.own.get(call)
        if old is None or operator_name(call) != _WHERE or not call.args[2].same_as(old):
            return rebuilt
        _, row, whole = rebuilt.args
        turn, spec = self._turn(rebuilt), spec_of(whole)
        if turn is None:
            return rebuilt
        variable = add_function(self.builder_, "write_row", _function(spec.shape, spec.dtype))
        return relax.op.call_tir_inplace(variable, [row, turn, whole], 2, whole.ty)

    def _turn(self, call: relax.Call) -> relax.Expr | None:
        """Return the number of the row that a call takes from elsewhere; None if it is not one."""
        row, whole = (spec_of(each).shape for each in call.args[1:])
        if len(whole) != _RANK or is_open(whole) or row != (whole[0], 1, whole[2]):
            return None
        test = self.lookup_binding(call.args[0])
        if operator_name(test) != _EQUAL:
            return None
        numbers, turn = constant_of(test.args[0]), test.args[1]
        is_number = spec_of(turn).shape == (1,) and spec_of(turn).dtype == "int32"
        rows = np.arange(whole[1]).reshape(-1, 1)
        if numbers is None or not is_number:
            return None
        return turn if np.array_equal(numbers, rows) else None


def _function(shape: tuple[int, ...], dtype: str) -> tirx.PrimFunc:
    """Return the function that writes a row [batch, 1, size] of a tensor [batch, rows, size]."""
    batch, rows, size = shape
    with new_function("write_row") as builder:
        row = T.arg("row", T.buffer((batch, 1, size), dtype))
        turn = T.arg("turn", T.buffer((1,), "int32"))
        whole = T.arg("whole", T.buffer(shape, dtype))
        with T.If(T.And(turn[0] >= 0, turn[0] < rows)), T.Then(), T.grid(batch, size) as (i, k):
            T.buffer_store(whole, row[i, 0, k], [i, turn[0], k])
    return builder.get()
