"""Expressions in Relay's form: calls are operands of calls, and a function encloses them."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature, unwrap
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np
import tvm
from tvm import relax
from tvm.relax import Call as Call
from tvm.relax import Expr as Expr
from tvm.relax import Tuple as Tuple
from tvm.relax import TupleGetItem as TupleGetItem
from tvm.relax import Var as Var
from tvm.relax.expr import _update_type

from qnn_ops.dialect.registry import TensorSpec, check_expr, spec_of
from qnn_ops.errors import QnnError

_Parameters = ParamSpec("_Parameters")
_Made = TypeVar("_Made")

Constant = tvm.ir.GenericConst
"""Scripts find it here, as Call, Expr, Tuple, TupleGetItem and Var."""


_ANY = "any"


def any_size() -> tvm.tirx.Var:
    """Return a new open size, which each run decides; it equals no other size."""
    return tvm.tirx.Var(_ANY, "int64")


def sizes_of(name: str, shape: Any) -> list[Any]:
    """Return the sizes of a shape, which may be a single number.

    Raises:
        QnnError: if a size is neither a number nor open.
    """
    sizes = [shape] if isinstance(shape, (int, np.integer, str)) else list(shape)
    for size in sizes:
        is_number = isinstance(size, (int, np.integer, tvm.tirx.IntImm)) and int(size) >= 0
        if not is_number and not isinstance(size, tvm.tirx.Var):
            raise QnnError(f"{name}: a size is a number or relay.Any(), got {size!s}")
    return [size if isinstance(size, tvm.tirx.Var) else int(size) for size in sizes]


def TensorType(shape: Any = (), dtype: str = "float32") -> relax.TensorType:
    """Return the type of a tensor.

    Raises:
        QnnError: if a size is neither a number nor open.
    """
    return relax.TensorType(sizes_of("TensorType", shape), dtype)


def var(
    name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32"
) -> relax.Var:
    """Return a function's parameter.

    Args:
        name_hint: the parameter's name.
        type_annotation: its type or its shape.
        shape: numbers, or ``relay.Any()`` for an open size; default: a scalar's shape.
        dtype: numpy's name of the dtype.

    Raises:
        QnnError: if a size is neither a number nor open.
    """
    if isinstance(type_annotation, relax.TensorType):
        shape, dtype = type_annotation.shape, str(type_annotation.dtype)
    if type_annotation is not None and isinstance(shape, str):  # a shape, followed by its dtype
        shape, dtype = None, shape
    given = type_annotation if shape is None else shape
    sizes = sizes_of(f"var {name_hint!r}", () if given is None else given)
    for axis, size in enumerate(sizes):
        if isinstance(size, tvm.tirx.Var) and size.name == _ANY:
            sizes[axis] = tvm.tirx.Var(f"{name_hint}_{axis}", "int64")
    return relax.Var(name_hint, relax.TensorType(sizes, dtype))


def const(value: Any, dtype: str | None = None) -> relax.Expr:
    """Return a constant tensor.

    Args:
        value: a number, a numpy array or one of TVM's tensors.
        dtype: default: the array's dtype; int32 or float32 for Python's integers and floats.
    """
    if dtype is None and isinstance(value, (bool, int, float)):
        dtype = {bool: "bool", int: "int32", float: "float32"}[type(value)]
    if isinstance(value, (int, float, list, tuple)):
        value = np.asarray(value, dtype)
    elif dtype is not None and str(value.dtype) != dtype:
        value = as_array(value).astype(dtype)
    # Without a dtype, Relax turns int64 into int32 and float64 into float32.
    return relax.const(value, dtype or str(value.dtype))


def as_array(value: Any) -> np.ndarray:
    """Return a tensor, an array, a number or nested lists as a numpy array."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def typed(call: relax.Call) -> relax.Call:
    """Return the call with its type, so that it can be an operand before it is emitted.

    Raises:
        QnnError: if an operand does not fit.
    """
    if any(isinstance(operand, relax.SeqExpr) for operand in call.args):
        operands = [
            nested_values(operand)[-1] if isinstance(operand, relax.SeqExpr) else operand
            for operand in call.args
        ]
        call = relax.Call(call.op, operands, call.attrs, call.ty_args)
    for operand in call.args:
        if is_untyped(operand):
            typed(operand)
    leaves = relax.Call(call.op, [_leaf(arg) for arg in call.args], call.attrs, call.ty_args)
    try:
        ty = relax.BlockBuilder().normalize(leaves).ty
    except QnnError:
        raise
    except (ValueError, TypeError, RuntimeError) as error:
        raise QnnError(f"{call.op.name.removeprefix('relax.')}: {_reason(error)}") from None
    for field in ty.fields if isinstance(ty, relax.TupleType) else [ty]:
        if any(isinstance(size, tvm.tirx.IntImm) and size.value < 0 for size in field.shape or ()):
            raise QnnError(f"{call.op.name.removeprefix('relax.')}: a size would be below 0")
    _update_type(call, ty)
    return call


def _reason(error: Exception) -> str:
    """Return TVM's reason why operands do not fit, without its description of the call."""
    text = re.sub(r"^In ir\.Op\(.*?support_level=\d+\), ", "", str(error), flags=re.DOTALL)
    return " ".join(re.sub(r"T\.int64\((-?\d+)\)", r"\1", text).split())[:300]


def rebuilt(expr: relax.Expr, change: Callable[[relax.Expr], relax.Expr]) -> relax.Expr:
    """Return an expression with changed operands; the expression itself if none changes."""
    operands = _operands(expr)
    changed = [change(operand) for operand in operands]
    if all(new is old for new, old in zip(changed, operands, strict=True)):
        return expr
    result = _rebuilt(expr, changed, lambda new: new)
    return typed(result) if isinstance(result, relax.Call) else result


def nested_values(body: relax.SeqExpr) -> list[relax.Expr]:
    """List a function's bindings and its result as nested calls; operands come first."""
    values: dict[relax.Var, relax.Expr] = {}

    def inlined(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Var):
            return values.get(expr, expr)
        result = _rebuilt(expr, [inlined(operand) for operand in _operands(expr)], lambda new: new)
        if isinstance(result, (relax.Call, relax.TupleGetItem)) and type(result.ty) is tvm.ir.Type:
            _update_type(result, expr.ty)
        return result

    for block in body.blocks:
        for binding in block.bindings:
            values[binding.var] = inlined(binding.value)
    return [*values.values(), inlined(body.body)]


def is_untyped(value: Any) -> bool:
    """Tell whether a value is a call without a type, as ``a * b`` makes it."""
    return isinstance(value, relax.Call) and type(value.ty) is tvm.ir.Type


def clip(a: relax.Expr, a_min: float, a_max: float) -> relax.Call:
    """Clamp each value of ``a``, any shape and dtype, to [a_min, a_max]."""
    check_expr("clip: a", a)
    return typed(relax.op.clip(a, a_min, a_max))


def Function(params: Iterable[relax.Var], body: relax.Expr) -> relax.Function:
    """Return a function ``main`` for ``tvm.IRModule.from_expr``.

    Args:
        params: the function's parameters, in order.
        body: the result. Calls may be nested, and one may be used twice.

    Raises:
        QnnError: if ``body`` is not an expression.
    """
    check_expr("Function: body", body)
    builder = relax.BlockBuilder()
    with builder.function("main", list(params)):
        with builder.dataflow():
            result = builder.emit_output(emitted(body, builder.emit))
        builder.emit_func_output(result)
    return builder.get()["main"]


def closed(body: relax.Expr) -> relax.Function:
    """Return an expression as a function of its variables."""
    return Function(free_vars(body), body)


def module_of(value: Any) -> tvm.IRModule:
    """Return a module whose ``main`` is a function, or computes an expression of its variables."""
    if isinstance(value, tvm.IRModule):
        return value
    if not isinstance(value, relax.Function):
        value = closed(value)
    return tvm.IRModule.from_expr(value)


def spec(name: str, value: Any) -> TensorSpec:
    """Return shape and dtype of an operand; errors call it ``name``."""
    check_expr(name, value)
    if is_untyped(value):
        typed(value)
    return spec_of(value, name)


def operator(function: Callable[_Parameters, _Made]) -> Callable[_Parameters, _Made]:
    """Return a function that makes one of Relay's operators, in its final form.

    It checks its operands, which are the parameters that are annotated as ``relax.Expr``, and gives
    the call its type. Parameters whose annotation names neither an expression nor ``Any`` take
    none. Its name becomes part of its module's ``__all__``.
    """
    name, parameters = function.__name__, signature(function).parameters
    operands = [key for key, each in parameters.items() if each.annotation is relax.Expr]
    texts = {key: str(each.annotation) for key, each in parameters.items()}
    known = {key for key, text in texts.items() if not re.search(r"\b(Expr|Any)\b", text)}
    offer(function)

    @wraps(function)
    def checked(*args: _Parameters.args, **named: _Parameters.kwargs) -> _Made:
        given = dict(zip(parameters, args, strict=False)) | named
        for operand in operands:
            if operand in given:
                spec(f"{name}: {operand}", given[operand])
        for key, value in given.items():
            if key in known and (part := _computed_part(value)) is not None:
                # list() of it would never end
                found = type(part).__name__
                raise QnnError(f"{name}: {key} must not be a Relax expression, got {found}")
        result: Any = function(*args, **named)
        return typed(result) if is_untyped(result) else result

    return checked


def _computed_part(value: Any) -> Any:
    """Return the first expression in a value or its lists, as ``_is_computed`` says, or None."""
    if isinstance(value, list | tuple):
        return next((part for each in value if (part := _computed_part(each)) is not None), None)
    return value if _is_computed(value) else None


def _is_computed(value: Any) -> bool:
    """Tell whether a value is an expression, other than a number or a shape."""
    if not isinstance(value, relax.Expr) or isinstance(value, relax.ShapeExpr):
        return False
    return not isinstance(value.ty, tvm.ir.PrimType)


def offer(function: Any) -> Any:
    """Add a function's name to its module's ``__all__``, and return the function."""
    unwrap(function).__globals__.setdefault("__all__", []).append(function.__name__)
    return function


def number(name: str, value: Any) -> Any:
    """Return a scale or zero point in Relay's form as Python numbers: one, or a list.

    Raises:
        QnnError: if it depends on an input.
    """
    if isinstance(value, relax.Call) and not free_vars(value):
        value = computed(value)
    if isinstance(value, tvm.ir.GenericConst):
        return value.value.numpy().tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, relax.Expr) or not isinstance(value, (int, float, list, tuple)):
        raise QnnError(f"{name} must be a constant, got {type(value).__name__}")
    return value


def is_known(*values: Any) -> bool:
    """Tell whether ``number`` can return each of some values."""
    return not any(isinstance(value, relax.Expr) and free_vars(value) for value in values)


def free_vars(expr: relax.Expr) -> list[relax.Var]:
    """Return the variables of an expression, in the order of their first use."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    stack = [expr]
    while stack:
        each = stack.pop()
        if each in seen:
            continue
        seen.add(each)
        if isinstance(each, relax.Var):
            found[each] = None
        else:
            stack.extend(reversed(_operands(each)))
    return list(found)


def computed(call: relax.Call) -> relax.Expr:
    """Return the result of a call on constants; it is a constant if TVM can fold the call."""
    mod = tvm.IRModule.from_expr(Function([], call))
    passes = [relax.transform.FoldConstant(), relax.transform.CanonicalizeBindings()]
    body = tvm.transform.Sequential(passes)(mod)["main"].body
    bindings = [each for block in body.blocks for each in block.bindings]
    return bindings[-1].value if bindings else body.body


def _leaf(expr: relax.Expr) -> relax.Expr:
    """Return an operand with variables in place of calls."""
    if isinstance(expr, (relax.Call, relax.TupleGetItem)):
        return relax.Var("operand", expr.ty)
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([_leaf(field) for field in expr.fields])
    return expr


def emitted(
    body: relax.Expr,
    emit: Callable[[relax.Expr], relax.Expr],
    known: Mapping[relax.Expr, relax.Expr] = MappingProxyType({}),
) -> relax.Expr:
    """Emit every call once, operands first; in a loop, since networks exceed Python's stack.

    Args:
        body: an expression that contains all of the calls.
        emit: returns the replacement of a call.
        known: replacements of other expressions.
    """
    done = dict(known)
    stack = [body]
    while stack:
        expr = stack[-1]
        operands = _operands(expr)
        missing = [operand for operand in operands if operand not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if expr not in done:
            done[expr] = _rebuilt(expr, [done[operand] for operand in operands], emit)
    return done[body]


def _operands(expr: relax.Expr) -> list[relax.Expr]:
    if isinstance(expr, relax.Call):
        return list(expr.args)
    if isinstance(expr, relax.TupleGetItem):
        return [expr.tuple_value]
    return list(expr.fields) if isinstance(expr, relax.Tuple) else []


def _rebuilt(
    expr: relax.Expr, operands: list[relax.Expr], emit: Callable[[relax.Expr], relax.Expr]
) -> relax.Expr:
    if isinstance(expr, relax.Call):
        return emit(relax.Call(expr.op, operands, expr.attrs, expr.ty_args))
    if isinstance(expr, relax.TupleGetItem):
        return emit(relax.TupleGetItem(operands[0], expr.index))
    return relax.Tuple(operands) if isinstance(expr, relax.Tuple) else expr
