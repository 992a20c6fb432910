"""Expressions in Relay's manner: calls stand in each other, a function closes over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr import _update_type

from qnn_ops.errors import QnnError
from qnn_ops.registry import TensorSpec, check_expr, spec_of


def var(name_hint: str, shape: Sequence[int] = (), dtype: str = "float32") -> relax.Var:
    """Return a function's parameter.

    Args:
        name_hint: its name.
        shape: static.
        dtype: numpy's name for it.
    """
    return relax.Var(name_hint, relax.TensorType([int(size) for size in shape], dtype))


def const(value: Any, dtype: str | None = None) -> relax.Expr:
    """Return a constant tensor.

    Args:
        value: a number, a numpy array or a tensor of TVM's.
        dtype: default: the array's; int32 or float32 for Python's integers and floats.
    """
    if dtype is None and isinstance(value, (bool, int, float)):
        dtype = {bool: "bool", int: "int32", float: "float32"}[type(value)]
    if isinstance(value, (int, float, list, tuple)):
        value = np.asarray(value, dtype)
    elif dtype is not None and str(value.dtype) != dtype:
        value = np.asarray(value.numpy() if hasattr(value, "numpy") else value).astype(dtype)
    # Without a dtype, Relax makes int32 of int64 and float32 of float64.
    return relax.const(value, dtype or str(value.dtype))


def typed(call: relax.Call) -> relax.Call:
    """Return the call with its type, so that other calls can be made on it before it is emitted.

    Raises:
        QnnError: if an operand does not fit.
    """
    _update_type(call, relax.BlockBuilder().normalize(_on_leaves(call)).ty)
    return call


def clip(a: relax.Expr, a_min: float, a_max: float) -> relax.Call:
    """Clamp each value of ``a``, any shape and dtype, to [a_min, a_max]."""
    check_expr("clip: a", a)
    return typed(relax.op.clip(a, a_min, a_max))


def Function(params: Iterable[relax.Var], body: relax.Expr) -> relax.Function:
    """Return a function ``main`` for ``tvm.IRModule.from_expr``.

    Args:
        params: its parameters, in order.
        body: what it returns: calls may stand in each other, and one may be used twice.

    Raises:
        QnnError: if ``body`` is no expression.
    """
    check_expr("Function: body", body)
    builder = relax.BlockBuilder()
    with builder.function("main", list(params)):
        with builder.dataflow():
            result = builder.emit_output(_emitted(body, builder.emit))
        builder.emit_func_output(result)
    return builder.get()["main"]


def spec(name: str, value: Any) -> TensorSpec:
    """Return shape and dtype of an operand that an error calls ``name``."""
    check_expr(name, value)
    return spec_of(value, name)


def number(name: str, value: Any) -> Any:
    """Return a scale or zero point, as Relay wrote it, as Python numbers: one, or a list of them.

    Raises:
        QnnError: if it is an expression that is no constant.
    """
    if isinstance(value, tvm.ir.GenericConst):
        return value.value.numpy().tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, relax.Expr) or not isinstance(value, (int, float, list, tuple)):
        raise QnnError(f"{name} must be a constant, got {type(value).__name__}")
    return value


def _on_leaves(call: relax.Call) -> relax.Call:
    """Return the same call on variables in place of the calls that it stands on."""
    return relax.Call(call.op, [_leaf(arg) for arg in call.args], call.attrs, call.ty_args)


def _leaf(expr: relax.Expr) -> relax.Expr:
    if isinstance(expr, relax.Call):
        return relax.Var("operand", expr.ty)
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([_leaf(field) for field in expr.fields])
    return expr


def _emitted(body: relax.Expr, emit: Callable[[relax.Expr], relax.Var]) -> relax.Expr:
    """Emit every call once, operands first. A loop: networks are deeper than Python's stack."""
    done: dict[relax.Expr, relax.Expr] = {}
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
    return list(expr.fields) if isinstance(expr, relax.Tuple) else []


def _rebuilt(
    expr: relax.Expr, operands: list[relax.Expr], emit: Callable[[relax.Expr], relax.Var]
) -> relax.Expr:
    if isinstance(expr, relax.Call):
        return emit(relax.Call(expr.op, operands, expr.attrs, expr.ty_args))
    return relax.Tuple(operands) if isinstance(expr, relax.Tuple) else expr
