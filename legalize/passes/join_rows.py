"""Join functions that compute the rows of a tensor one by one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import mutator
from tvm.tirx.buffer import decl_buffer

from legalize.loop_functions import root_block, storing_function
from legalize.passes.channels_last_rules import static_shape
from legalize.passes.rewriter import CallRewriter, first_found, module_pass
from legalize.passes.row_loops import (
    Loops,
    bytes_of,
    common_counts,
    flat,
    loops_of,
    over_rows,
    size_of,
    stay_in_rows,
)

_MOST_ROWS = 3
"""The most rows at a time. Sums of different rows do not wait for each other.

With more rows LLVM makes vectors across them, and gathers their elements.
"""
_NEAR = 1 << 15
"""The bytes of the nearest cache for rows and all data that they read and write."""
_FAR = 1 << 18
"""A row of more bytes does not stay near."""
_SHORTEST = 16
"""Loops over rows of at least this many elements become vectors."""
_LONGEST_NAME = 100


def JoinRows() -> tvm.transform.Pass:
    """Join calls of TIR functions that loop over the same rows, such as those of a softmax.

    TVM ends a function at a maximum or a sum of a row that is needed for each element of the row.
    Whole tensors go through memory between such functions. The joined function takes a few rows at
    a time and does for them what each function did, in the same order. The values between the
    steps are as large as these rows, so they stay in the nearest cache.

    The pass joins consecutive calls when each reads a result of an earlier one. Only the last
    result may be read by other calls. Each loop iteration reads only its own row of each result.
    The pass leaves kernels alone.
    """
    return module_pass(_Joiner, "JoinRows")


@dataclass(frozen=True, eq=False)
class _Member:
    """A call that may be joined.

    Attributes:
        variable: the variable of its result.
        call: the call in the rewritten function.
        loops: the loops of the called function.
    """

    variable: Any
    call: relax.Call
    loops: Loops

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.call.args[0].name_hint)

    @cached_property
    def arguments(self) -> tuple[relax.Expr, ...]:
        """The tensors that it reads."""
        return tuple(self.call.args[1].fields)

    @cached_property
    def tensors(self) -> list[tuple[Any, Any]]:
        """Arguments and result, each with the function's own tensor for it."""
        return list(zip((*self.arguments, self.variable), self.loops.parameters, strict=True))


@dataclass(frozen=True, eq=False)
class _Group:
    """Calls that become one.

    Attributes:
        members: the calls in order.
        rows: the number of rows that they compute.
        turn: the number of rows at a time.
    """

    members: tuple[_Member, ...]
    rows: int
    turn: int

    @property
    def given(self) -> list[relax.Expr]:
        """The tensors that they read and that none of them computes."""
        made = {member.variable for member in self.members}
        found: list[relax.Expr] = []
        for argument in (each for member in self.members for each in member.arguments):
            if argument not in made and not any(argument.same_as(other) for other in found):
                found.append(argument)
        return found


@mutator
class _Joiner(CallRewriter):
    """Replaces the last call of each group. The group's other calls are then dead."""

    def enter(self, function: relax.Function) -> bool:
        """Find the groups of a function."""
        uses, groups = self.facts.uses, list[_Group]()
        bindings = [each for block in function.body.blocks for each in block.bindings]
        operands = {each.var: _variables_of(each) for each in bindings if _is_plain(each)}
        read = operands.keys() & set().union(*operands.values())
        reading = {each for each, own in operands.items() if own & operands.keys()}
        self.linked = read | reading
        for block in function.body.blocks:
            run: list[_Member] = []
            for binding in block.bindings:
                member = self._member(binding)
                reads = member is not None and any(
                    argument.same_as(other.variable)
                    for argument in member.arguments
                    for other in run
                )
                if not reads:
                    groups += _cut(run, uses)
                    run = []
                if member is not None:
                    run.append(member)
            groups += _cut(run, uses)
        self.groups = {group.members[-1].call: group for group in groups}
        return bool(groups)

    def _member(self, binding: Any) -> _Member | None:
        if binding.var not in self.linked:
            return None
        call = binding.value
        if any(static_shape(each) is None for each in (binding.var, *call.args[1].fields)):
            return None
        loops = loops_of(self.builder_.get()[call.args[0]])
        if loops is None or len(loops.parameters) != len(call.args[1].fields) + 1:
            return None
        return _Member(binding.var, call, loops)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Replace a group's last call by a call of the joined function."""
        group = self.groups.get(call)
        if group is None:
            return self.visit_expr_post_order(call)
        given = [self.visit_expr(each) for each in group.given]
        name = "_".join(member.name.removeprefix("fused_") for member in group.members)
        variable = self.builder_.add_func(_joined(group), f"rows_{name[:_LONGEST_NAME]}")
        return relax.call_tir(variable, given, call.ty)


def _is_plain(binding: Any) -> bool:
    call = binding.value
    if not isinstance(binding, relax.VarBinding) or not isinstance(call, relax.Call):
        return False
    is_plain = call.op == tvm.ir.Op.get("relax.call_tir") and len(call.args) == 2
    return is_plain and isinstance(call.ty, relax.TensorType)


def _variables_of(binding: relax.VarBinding) -> set[Any]:
    return {each for each in binding.value.args[1].fields if isinstance(each, relax.Var)}


def _cut(run: Sequence[_Member], uses: Counter[Any]) -> list[_Group]:
    """Cut consecutive calls into groups; calls in no group stay."""
    readers: dict[Any, list[int]] = {member.variable: [] for member in run}
    for number, member in enumerate(run):
        for argument in member.arguments:
            if isinstance(argument, relax.Var) and argument in readers:
                readers[argument].append(number)
    # A group has all calls that read a result, except for its last one.
    least = [
        max(own, default=0) + 1 if len(own) == uses[variable] else len(run) + 1
        for variable, own in readers.items()
    ]
    groups, start = list[_Group](), 0
    while start < len(run):
        needed = enumerate(accumulate(least[start:-1], max), start + 2)
        ends = [end for end, most in needed if most <= end]
        group = first_found(_group(run[start:end]) for end in reversed(ends))
        if group is not None:
            groups.append(group)
        start += 1 if group is None else len(group.members)
    return groups


def _group(members: Sequence[_Member]) -> _Group | None:
    """Return calls as a group, if they loop over the same rows."""
    loops = [member.loops for member in members]
    made = {member.variable for member in members}
    kept = {name for member in members for tensor, name in member.tensors if tensor in made}
    kept |= {name for each in loops for name in each.own}
    longest = max(map(size_of, kept))
    for rows in common_counts(loops):
        row_bytes = sum(map(bytes_of, kept)) // rows
        if longest >= _SHORTEST * rows and row_bytes <= _FAR and stay_in_rows(loops, kept, rows):
            turn = max(1, min(rows, _MOST_ROWS, _NEAR // row_bytes))
            return _Group(tuple(members), rows, turn)
    return None


def _joined(group: _Group) -> tirx.PrimFunc:
    """Write the function of a group, of the given tensors and the result."""
    rows, turn = group.rows, group.turn
    names = {tensor: name for member in group.members for tensor, name in member.tensors}
    outside = [*group.given, group.members[-1].variable]
    parameters, declared, places = list[Any](), list[Any](), dict[Any, Any]()
    for number, tensor in enumerate(outside):
        shape, dtype = list(tensor.ty.shape), str(tensor.ty.dtype)
        parameters.append(decl_buffer(shape, dtype, f"tensor_{number}", layout=None))
        places[tensor] = flat(f"whole_{number}", names[tensor], size_of(names[tensor]))
        declared.append(tirx.DeclBuffer(places[tensor], data=parameters[-1].data))

    def local(tensor: Any) -> Any:
        buffer = flat(f"rows_{len(declared)}", tensor, size_of(tensor) // rows * turn)
        declared.append(tirx.AllocBuffer(buffer))
        return buffer

    block, first = tirx.Var("block", "int64"), tirx.Var("first", "int64")
    begin = block * turn
    if rows % turn:  # the last rows are computed with some before them
        begin = tirx.min(begin, tirx.IntImm("int64", rows - turn))
    statements = [tirx.Bind(first, begin)]
    for member in group.members:
        if member.variable not in places:
            places[member.variable] = local(names[member.variable])
        tensors = {name: places[tensor] for tensor, name in member.tensors}
        tensors |= {name: local(name) for name in member.loops.own}
        for nest in member.loops.nests:
            number = tirx.Var("row", "int64")
            body = over_rows(nest, rows, (first, number), tensors)
            statements.append(tirx.For(number, 0, turn, tirx.ForKind.SERIAL, body))
    loop = tirx.For(block, 0, -(-rows // turn), tirx.ForKind.SERIAL, tirx.SeqStmt(statements))
    body = tirx.SeqStmt([*declared, loop])
    function = storing_function(parameters, root_block(body))
    return function.with_attrs({"tirx.noalias": True, "s_tir": True})
