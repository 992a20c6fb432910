"""A lowered model as a list of function calls on memory whose places are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from qnn_ops.registry import type_spec

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Input:
    """The memory of the model's input of this number."""

    number: int


@dataclass(frozen=True)
class Output:
    """The memory of the model's output of this number."""

    number: int


@dataclass(frozen=True)
class Constant:
    """A constant, by its number."""

    number: int


@dataclass(frozen=True)
class Temporary:
    """Memory between two calls, by its number."""

    number: int


Place: TypeAlias = "Input | Output | Constant | Temporary"


@dataclass(frozen=True)
class Call:
    """A call of a function with pointers to its arguments; no function is a copy: (to, from).

    Attributes:
        function: its name in the module.
        arguments: in its order.
    """

    function: str | None
    arguments: tuple[Place, ...]


@dataclass(frozen=True)
class Plan:
    """The calls of a run of a model.

    Attributes:
        calls: in their order.
        constants: by number.
        temporaries: the size in bytes of each, by number.
    """

    calls: tuple[Call, ...]
    constants: tuple[Array, ...]
    temporaries: tuple[int, ...]


def plan_of(mod: tvm.IRModule) -> Plan:
    """Read the calls of a module's function ``main``.

    Args:
        mod: as ``legalize.calls_pipeline`` leaves it: main calls TIR functions on tensors that
            it allocates.

    Raises:
        QnnError: if main does anything that takes TVM's runtime; names it.
    """
    reader = _Reader(mod["main"])
    results = reader.read()
    places: dict[Place, Place] = {}
    copies = []
    for number, result in enumerate(results):
        # Written where the caller wants it, unless it is the caller's own or wanted twice.
        if isinstance(result, Temporary) and result not in places:
            places[result] = Output(number)
        else:
            copies.append((Output(number), result))
    calls = [
        Call(call.function, tuple(places.get(place, place) for place in call.arguments))
        for call in reader.calls
    ]
    calls += [Call(None, (to, places.get(source, source))) for to, source in copies]
    return Plan(tuple(calls), tuple(reader.constants), tuple(reader.temporaries))


def with_scratch(plan: Plan, scratch: Mapping[str, Sequence[int]]) -> Plan:
    """Return the plan with the memory that functions need for themselves as their last arguments.

    Args:
        plan: without it.
        scratch: the sizes in bytes of each block that a function takes.
    """
    temporaries = list(plan.temporaries)
    calls = []
    for call in plan.calls:
        sizes = scratch.get(call.function, ()) if call.function else ()
        blocks = range(len(temporaries), len(temporaries) + len(sizes))
        temporaries += sizes
        calls.append(Call(call.function, (*call.arguments, *map(Temporary, blocks))))
    return Plan(tuple(calls), plan.constants, tuple(temporaries))


_Value: TypeAlias = "Place | tuple[_Value, ...]"


class _Reader:
    """Follows the variables of a function to the memory that they stand for."""

    def __init__(self, main: relax.Function) -> None:
        self.calls: list[Call] = []
        self.constants: list[Array] = []
        self.temporaries: list[int] = []
        self._main = main
        self._values: dict[relax.Var, _Value] = {
            parameter: Input(number) for number, parameter in enumerate(main.params)
        }
        self._known_constants: dict[tvm.ir.GenericConst, Constant] = {}

    def read(self) -> list[Place]:
        """Read the calls; gives the places of the results."""
        body = self._main.body
        for block in body.blocks if isinstance(body, relax.SeqExpr) else ():
            for binding in block.bindings:
                if not isinstance(binding, relax.VarBinding):
                    raise _refusal(type(binding).__name__)
                self._values[binding.var] = self._value(binding.value)
        result = self._value(body.body if isinstance(body, relax.SeqExpr) else body)
        return _leaves(result)

    def _value(self, expr: relax.Expr) -> _Value:
        for kind, rule in _RULES.items():
            if isinstance(expr, kind):
                return rule(self, expr)
        raise _refusal(type(expr).__name__)

    def _variable(self, expr: relax.Var) -> _Value:
        return self._values[expr]

    def _constant(self, expr: tvm.ir.GenericConst) -> _Value:
        if expr not in self._known_constants:
            self._known_constants[expr] = Constant(len(self.constants))
            self.constants.append(expr.value.numpy())
        return self._known_constants[expr]

    def _tuple(self, expr: relax.Tuple) -> _Value:
        return tuple(self._value(field) for field in expr.fields)

    def _item(self, expr: relax.TupleGetItem) -> _Value:
        fields = self._value(expr.tuple_value)
        assert isinstance(fields, tuple)
        return fields[expr.index]

    def _call(self, expr: relax.Call) -> _Value:
        if isinstance(expr.op, tvm.ir.GlobalVar):
            places = [place for arg in expr.args for place in _leaves(self._value(arg))]
            self.calls.append(Call(expr.op.name_hint, tuple(places)))
            return ()
        if isinstance(expr.op, tvm.ir.Op) and expr.op.name in _OPERATORS:
            return _OPERATORS[expr.op.name](self, expr)
        name = expr.op.global_symbol if isinstance(expr.op, relax.ExternFunc) else expr.op
        raise _refusal(str(getattr(name, "name", name)))

    def _allocate(self, expr: relax.Call) -> _Value:
        spec = type_spec(expr.ty, "a tensor of a standalone export")
        self.temporaries.append(prod(spec.shape) * np.dtype(spec.dtype).itemsize)
        return Temporary(len(self.temporaries) - 1)

    def _same_memory(self, expr: relax.Call) -> _Value:
        return self._value(expr.args[0])


_RULES: dict[type, Callable[[_Reader, Any], _Value]] = {
    relax.Var: _Reader._variable,
    tvm.ir.GenericConst: _Reader._constant,
    relax.Tuple: _Reader._tuple,
    relax.TupleGetItem: _Reader._item,
    relax.Call: _Reader._call,
}
_OPERATORS: dict[str, Callable[[_Reader, relax.Call], _Value]] = {
    "relax.builtin.alloc_tensor": _Reader._allocate,
    "relax.reshape": _Reader._same_memory,
}


def _leaves(value: _Value) -> list[Place]:
    if isinstance(value, tuple):
        return [leaf for field in value for leaf in _leaves(field)]
    return [value]


def _refusal(what: str) -> QnnError:
    return QnnError(
        f"the model cannot be exported without TVM's runtime: it needs {what}; "
        "export it as .so instead"
    )
