"""Calls kernels for a known number of rows to compute an open number of them.

If rows do not depend on each other, a loop over 16 rows at a time and one over single rows compute
any number, by kernels for 16 rows and for one. An image is a row, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import tvm
from tvm import relax, s_tir, tirx
from tvm.tirx.buffer import decl_buffer

from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.separate import leading_axes
from legalize.written import own_sizes
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import as_const, constant_of, operator_of, spec_of, type_spec
from qnn_ops.dialect.sizes import as_extent, is_open
from qnn_ops.dialect.traits import Channels

Lower = Callable[[relax.BlockBuilder, relax.Call], "relax.Expr | None"]

_SHORT = 64
"""Rows of fewer elements are taken 256 at a time first."""

_Place: TypeAlias = "tuple[str, int]"
"""A tensor by kind and number: an "operand", a "constant", or "made" by a kernel."""


@dataclass(frozen=True, eq=False)
class _Part:
    """The kernels for some rows.

    Attributes:
        rows: the number of rows.
        calls: functions, each with the tensors that it reads and, at the end, the one it writes.
        constants: the arrays that the functions read.
        made: the types of the tensors that the functions write, the result last.
    """

    rows: int
    calls: tuple[tuple[tirx.PrimFunc, tuple[_Place, ...]], ...]
    constants: tuple[Array, ...]
    made: tuple[relax.TensorType, ...]

    @property
    def common(self) -> Any:
        """All that kernels for other numbers of rows must have in common."""
        arrays = [(each.shape, str(each.dtype), each.tobytes()) for each in self.constants]
        return [places for _, places in self.calls], arrays


def by_rows(lower: Lower, builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr | None:
    """Return a call of open sizes as a function that computes some rows at a time.

    Args:
        lower: lowers a call of known sizes to kernels.
        builder: the module's builder.
        call: the call of open sizes.

    Returns:
        None if rows depend on each other, or if not only kernels compute them.
    """
    axes = leading_axes(call)
    operator = operator_of(call)
    if axes is None or operator is None:
        return None
    result = type_spec(call.ty, "a result")
    counts = [256, 16, 1] if prod(result.shape[axes:]) < _SHORT else [16, 1]
    if operator.traits.channels in (Channels.CONVOLUTION, Channels.LAYOUT):
        counts = [1]
    parts: list[_Part] = []
    for count in counts:
        part = _part(lower, call, axes, count)
        if part is None or (parts and part.common != parts[0].common):
            return None
        parts.append(part)
    operands = [field for arg in call.args for field in _fields(arg)]
    constants = [as_const(array) for array in parts[0].constants]
    ty = relax.TensorType([as_extent(size) for size in result.shape], result.dtype)
    function = _function(parts, [each.ty for each in operands], ty, axes)
    name = SORTED_LAST + operator.name
    return call_tir(builder, name, function, [*operands, *constants], result.shape, result.dtype)


def _fields(expr: relax.Expr) -> list[relax.Expr]:
    return list(expr.fields) if isinstance(expr, relax.Tuple) else [expr]


def _part(lower: Lower, call: relax.Call, axes: int, count: int) -> _Part | None:
    """Return the kernels for some rows of a call."""
    builder = relax.BlockBuilder()
    places: dict[Any, _Place] = {}

    def some_rows(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([some_rows(field) for field in expr.fields])
        made = expr
        if constant_of(expr) is None:
            spec = spec_of(expr)
            shape: Sequence[Any] = spec.shape
            if is_open(shape):
                shape = (*(1,) * (axes - 1), count, *shape[axes:])
            made = relax.Var("operand", relax.TensorType(shape, spec.dtype))
        places[made] = "operand", len(places)
        return made

    operands = [some_rows(each) for each in call.args]
    with builder.function("main", [each for each in places if isinstance(each, relax.Var)]):
        alone = builder.normalize(relax.Call(call.op, operands, call.attrs))
        value = lower(builder, alone)
        builder.emit_func_output(relax.Tuple([]) if value is None else builder.emit(value))
    return None if value is None else _read(builder.get(), places, count)


def _read(mod: tvm.IRModule, places: dict[Any, _Place], count: int) -> _Part | None:
    """Return the calls of a function; None if it does more than call kernels."""
    constants: list[Array] = []
    calls: list[Any] = []
    made: list[relax.TensorType] = []
    main = mod["main"]
    for block in main.body.blocks:
        for binding in block.bindings:
            value, name = binding.value, getattr(getattr(binding.value, "op", None), "name", "")
            if isinstance(value, relax.Var) and value in places:
                places[binding.var] = places[value]
            elif name == "relax.reshape" and value.args[0] in places:
                places[binding.var] = places[value.args[0]]
            elif name == "relax.call_tir":
                found: list[_Place] = []
                for each in value.args[1].fields:
                    if each not in places and (array := constant_of(each)) is not None:
                        places[each] = "constant", len(constants)
                        constants.append(array)
                    if each not in places:
                        return None
                    found.append(places[each])
                places[binding.var] = "made", len(made)
                made.append(binding.var.ty)
                calls.append((mod[value.args[0]], (*found, places[binding.var])))
            else:
                return None
    is_last = bool(made) and places.get(main.body.body) == ("made", len(made) - 1)
    return _Part(count, tuple(calls), tuple(constants), tuple(made)) if is_last else None


def _function(
    parts: Sequence[_Part], types: Sequence[relax.TensorType], result: relax.TensorType, axes: int
) -> tirx.PrimFunc:
    """Write the loops over rows.

    Args:
        parts: the kernels for the most rows first.
        types: the types of the operands.
        result: the type of the result.
        axes: the number of axes that are rows.
    """
    own: dict[str, tirx.Var] = {}  # equal sizes are one variable of the function

    def buffer(ty: relax.TensorType, name: str) -> Any:
        return decl_buffer(own_sizes(type_spec(ty, name).shape, own), ty.dtype, name)

    tensors, output = [buffer(ty, "operand") for ty in types], buffer(result, "output")
    arrays = parts[0].constants
    constants = [decl_buffer(each.shape, str(each.dtype), "constant") for each in arrays]
    flats = {
        each: decl_buffer([prod(each.shape)], each.dtype, "rows") for each in (*tensors, output)
    }
    rows = prod(list(output.shape[:axes]), start=tirx.IntImm("int64", 1))
    done: Any = tirx.IntImm("int64", 0)
    body: list[Any] = [tirx.DeclBuffer(flat, data=each.data) for each, flat in flats.items()]
    for part in parts:
        number = tirx.Var("number", "int64")
        first = done + number * part.rows
        *between, _ = (decl_buffer([_size(ty)], ty.dtype, "made") for ty in part.made)

        def address(place: _Place, first: Any = first, between: Any = between) -> Any:
            kind, index = place
            if kind == "constant":
                return constants[index].data
            if kind == "made" and index < len(between):
                return between[index].data
            whole = output if kind == "made" else tensors[index]
            if kind == "operand" and not is_open(type_spec(types[index], "an operand").shape):
                return whole.data
            return tirx.address_of(flats[whole][first * prod(list(whole.shape[axes:]))])

        lines = [tirx.AllocBuffer(each) for each in between]
        for function, places in part.calls:
            again = s_tir.renew_defs(function)
            lines += [
                tirx.DeclBuffer(parameter, data=address(place))
                for parameter, place in zip(again.params, places, strict=True)
            ]
            lines.append(again.body)
        times = tirx.floordiv(rows - done, part.rows)
        block = tirx.SeqStmt(lines)
        body.append(tirx.For(number, 0, times, tirx.ForKind.SERIAL, block))
        done = done + times * part.rows
    attrs = {"tirx.noalias": False, "global_symbol": "rows", "s_tir": True}
    return tirx.PrimFunc([*tensors, *constants, output], tirx.SeqStmt(body)).with_attrs(attrs)


def _size(ty: relax.TensorType) -> int:
    return prod(map(int, ty.shape))
