"""Lower loops: a condition and a body become one function of TIR that repeats.

A turn of a loop writes its row of the outputs, and leaves the other rows as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, s_tir, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.script.ir_builder import tirx as T
from tvm.tirx.buffer import decl_buffer

from legalize.call_plan import Call, Constant, Input, Output, Place, Plan, plan_of
from legalize.kernels.call import KEPT_APART, SORTED_LAST
from legalize.kernels.kernel import HAS_PLAIN_LOOPS
from legalize.loop_functions import add_function, storing_function
from legalize.memory_plan import ALIGNMENT, Layout, lay_out, pack
from legalize.passes.bodies import body_of, copied, is_plain, is_view, with_barrier
from legalize.passes.rewriter import Facts
from legalize.pipeline import calls_pipeline
from legalize.qdq.group import operator_name
from legalize.written import new_function
from qnn_ops.dialect.registry import as_const, constant_of, spec_of, type_spec, view_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.loop import LOOP

Lower = Callable[[tvm.IRModule], tvm.IRModule]

_EQUAL, _WHERE = "relax.equal", "relax.where"
_RANK = 3


def lower_loops(mod: tvm.IRModule, target: tvm.target.Target, lower: Lower) -> tvm.IRModule:
    """Replace every loop of ``main`` by a call of a function of TIR.

    The function has the results' memory and a block for everything that an iteration needs. So a
    run takes the same memory for any number of iterations.

    Args:
        mod: its functions other than main are the conditions and bodies of loops.
        target: the target of the compilation.
        lower: lowers the operators of a module's ``main``.

    Raises:
        QnnError: a loop's functions do more than call functions of TIR.
    """

    @mutator
    class _Loops(PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            if not isinstance(call.op, tvm.ir.Op) or not call.op.same_as(LOOP):
                return super().visit_call_(call)
            condition, body = (
                _part(_alone(mod, function), target, lower) for function in call.args[:2]
            )
            carried = [self.visit_expr(operand) for operand in call.args[2:]]
            types = list(call.ty.fields)
            function, constants, memory = _repeating(condition, body, types)
            variable = self.builder_.add_func(function, f"{SORTED_LAST}loop")
            results = [*types, relax.TensorType((memory,), "uint8")]
            operands = [*carried, as_const(constants)]
            made = self.builder_.emit(relax.call_tir(variable, operands, results))
            return relax.Tuple([relax.TupleGetItem(made, i) for i in range(len(types))])

    if len(mod.functions) == 1:
        return mod
    loops = _Loops(mod)
    main = mod.get_global_var("main")
    loops.builder_.update_func(main, loops.visit_expr(mod["main"]))
    return relax.transform.DeadCodeElimination(["main"])(loops.builder_.finalize())


@dataclass(frozen=True)
class _Part:
    """A condition or a body.

    Attributes:
        mod: contains the functions that it calls.
        plan: the calls.
        layout: the offsets of the tensors between the calls.
        sizes: the sizes of its results in bytes.
    """

    mod: tvm.IRModule
    plan: Plan
    layout: Layout
    sizes: tuple[int, ...]


def _alone(mod: tvm.IRModule, variable: tvm.ir.GlobalVar) -> tvm.IRModule:
    """Return a module whose ``main`` is another function, with the functions of its own loops."""
    function = mod[variable].with_attr("global_symbol", "main")
    others = {name: each for name, each in mod.functions.items() if name.name_hint != "main"}
    return relax.transform.DeadCodeElimination(["main"])(tvm.IRModule({**others, "main": function}))


def _part(mod: tvm.IRModule, target: tvm.target.Target, lower: Lower) -> _Part:
    lowered = write_rows(lower(mod))
    with target:
        calls = calls_pipeline(target)(lowered)
    plan = plan_of(calls, is_view)
    if not all(is_plain(calls[call.function]) for call in plan.calls if call.function):
        raise QnnError("a loop's function takes tensors that begin inside others")
    specs = [type_spec(ty, "a result of a loop's function") for ty in calls["main"].ret_ty.fields]
    sizes = (prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in specs)
    return _Part(calls, plan, lay_out(plan), tuple(sizes))


def _repeating(
    condition: _Part, body: _Part, types: Sequence[relax.TensorType]
) -> tuple[tirx.PrimFunc, np.ndarray[Any, Any], int]:
    """Write the function of the loop's variables, constants, results and memory.

    Returns:
        The function, the block of constants, and the bytes of memory that it needs.
    """
    sizes = body.sizes
    # The results of an iteration are complete before the next one reads them.
    ends = np.cumsum([ALIGNMENT, body.layout.size, *(_aligned(size) for size in sizes)]).tolist()
    first, following = ends[0], ends[1:]
    memory_size = max(ends[-1], first + condition.layout.size)
    arrays = map(view_of, (*condition.plan.constants, *body.plan.constants))
    block, offsets = pack(arrays, spare=ALIGNMENT)  # never empty

    memory = decl_buffer((memory_size,), "uint8", "memory")
    constants = decl_buffer((block.size,), "uint8", "constants")
    given, results = (
        [decl_buffer(list(ty.shape), ty.dtype, name) for ty in types] for name in ("given", "made")
    )

    def places(part: _Part, skipped: int, outputs: Sequence[int]) -> Callable[[Place], Any]:
        def pointer(place: Place) -> Any:
            if isinstance(place, Input):
                return results[place.number].data
            if isinstance(place, Output):
                return tirx.address_of(memory[outputs[place.number]])
            if isinstance(place, Constant):
                return tirx.address_of(constants[offsets[skipped + place.number]])
            return tirx.address_of(memory[first + part.layout.offsets[place.number]])

        return pointer

    def statements(part: _Part, skipped: int, outputs: Sequence[int]) -> list[Any]:
        pointer, made = places(part, skipped, outputs), list[Any]()
        for call in part.plan.calls:
            if call.function:
                made += body_of(s_tir.renew_defs(part.mod[call.function]), call, pointer)
            elif _stays(call) is None:
                to, source = call.arguments
                assert isinstance(to, Output)
                made += copied(pointer(to), pointer(source), part.sizes[to.number])
        return made

    test = statements(condition, 0, [0])
    step = statements(body, len(condition.plan.constants), following)
    kept = {_stays(call) for call in body.plan.calls}
    for number, (result, size) in enumerate(zip(results, sizes, strict=True)):
        if number not in kept:
            step += copied(result.data, tirx.address_of(memory[following[number]]), size)
    begin: list[Any] = []
    for source, result, size in zip(given, results, sizes, strict=True):
        begin += copied(result.data, source.data, size)
    again = statements(condition, 0, [0])
    going = tirx.NE(memory[0], tirx.IntImm("uint8", 0))
    repeated = tirx.While(going, tirx.SeqStmt([*step, *again]))
    # Tensors share memory, so tensors of different names may alias.
    attrs = {"tirx.noalias": False, "s_tir": True, **KEPT_APART, HAS_PLAIN_LOOPS: True}
    function = storing_function(
        [*given, constants, *results, memory], with_barrier([*begin, *test, repeated])
    ).with_attrs(attrs)
    return function, block, memory_size


def _stays(call: Call) -> int | None:
    """Return the number of the loop's variable that a call copies to itself, if it does."""
    if call.function is not None:
        return None
    to, source = call.arguments
    if isinstance(to, Output) and isinstance(source, Input) and to.number == source.number:
        return to.number
    return None


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


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
    writer = _RowWriter(mod)
    writer.own = {
        values[field]: variable
        for field, variable in zip(result.fields, main.params, strict=False)
        if field in values and uses[variable] == 1
    }
    writer.builder_.update_func(mod.get_global_var("main"), writer.visit_expr(main))
    return relax.transform.DeadCodeElimination()(writer.builder_.finalize())


@mutator
class _RowWriter(PyExprMutator):
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
        variable = add_function(self.builder_, "write_row", _writing(spec.shape, spec.dtype))
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


def _writing(shape: tuple[int, ...], dtype: str) -> tirx.PrimFunc:
    """Return the function that writes a row [batch, 1, size] of a tensor [batch, rows, size]."""
    batch, rows, size = shape
    with new_function("write_row") as builder:
        row = T.arg("row", T.buffer((batch, 1, size), dtype))
        turn = T.arg("turn", T.buffer((1,), "int32"))
        whole = T.arg("whole", T.buffer(shape, dtype))
        with T.If(T.And(turn[0] >= 0, turn[0] < rows)), T.Then(), T.grid(batch, size) as (i, k):
            T.buffer_store(whole, row[i, 0, k], [i, turn[0], k])
    return builder.get()
