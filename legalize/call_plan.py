"""A lowered model as a list of function calls on memory with known addresses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax, tirx

from legalize.kernels.kernel import SAME_CODE
from qnn_ops.dialect.registry import static_spec, type_spec, view_of
from qnn_ops.dialect.sizes import variables_of
from qnn_ops.distinct import Distinct
from qnn_ops.errors import QnnError


class NotCallsError(QnnError):
    """The error of a function that does something other than call TIR functions.

    Attributes:
        what: the name of the other thing.
    """

    def __init__(self, what: str) -> None:
        """Name the other thing that a function does."""
        super().__init__(f"the model is no plain list of calls: it needs {what}")
        self.what = what


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
    """A call of a function with pointers to its arguments. No function means a copy: (to, from).

    Attributes:
        function: its name in the module.
        arguments: in the function's order.
        sizes: the function's variables that are sizes, each with its value in ``main``.
    """

    function: str | None
    arguments: tuple[Place, ...]
    sizes: tuple[tuple[tirx.Var, Any], ...] = ()


@dataclass(frozen=True)
class Plan:
    """The calls of a run of a model.

    Attributes:
        calls: in order.
        constants: the constants, by number.
        temporaries: the size in bytes of each, by number; an open one is a ``Size``.
        parts: for each temporary tensor inside another, the outermost tensor and the offset in
            bytes.
    """

    calls: tuple[Call, ...]
    constants: tuple[tvm.runtime.Tensor, ...]
    temporaries: tuple[int, ...]
    parts: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether a run decides some sizes."""
        return any(call.sizes for call in self.calls)

    def home(self, number: int) -> tuple[int, int]:
        """Return the outermost temporary tensor that contains this one, and the offset in it."""
        return self.parts.get(number, (number, 0))


def plan_of(
    mod: tvm.IRModule,
    is_view: Callable[[Any], bool] = lambda function: False,
    *,
    takes_open: bool = False,
) -> Plan:
    """Read the calls of a module's function ``main``.

    Args:
        mod: the result of ``legalize.calls_pipeline``: main calls TIR functions on tensors that
            it allocates.
        is_view: tells whether a function of the module only copies its argument to its result. A
            copy of a temporary tensor is then no call, but another name of that tensor.
        takes_open: whether sizes may be open, and inputs viewed as temporary tensors are.

    Raises:
        NotCallsError: if main does anything else; the error names it.
        QnnError: if a shape is not known.
    """
    reader = _Reader(mod, is_view, takes_open)
    results = reader.read()
    places: dict[Place, Place] = {}
    copies = []
    for number, result in enumerate(results):
        # The caller's output holds a result, unless that is the caller's own or returned twice.
        if isinstance(result, Temporary) and result not in places:
            places[result] = Output(number)
        else:
            copies.append((Output(number), result))
    calls = [
        replace(call, arguments=tuple(places.get(place, place) for place in call.arguments))
        for call in reader.calls
    ]
    calls += [Call(None, (to, places.get(source, source))) for to, source in copies]
    return Plan(tuple(calls), tuple(reader.constants), tuple(reader.temporaries))


def _sizes_of(function: Any, arguments: Sequence[relax.Expr]) -> tuple[tuple[tirx.Var, Any], ...]:
    """Return a function's variables for sizes, with their values; none if no code reads them.

    Raises:
        NotCallsError: if the arguments do not determine all of them.
    """
    if not isinstance(function, tirx.PrimFunc) or SAME_CODE in function.attrs:
        return ()
    found: dict[tirx.Var, Any] = {}
    used: set[tirx.Var] = set()
    for parameter, argument in zip(function.params, arguments, strict=True):
        if is_number(argument):
            found.setdefault(parameter, argument)
            continue
        for axis, size in enumerate(parameter.shape):
            if isinstance(size, tirx.Var):
                found.setdefault(size, argument.ty.shape.values[axis])
            elif not isinstance(size, int | tirx.IntImm):
                used.update(variables_of(size))
    if not used <= found.keys():
        raise NotCallsError("an open size")
    return tuple(found.items())


def bytes_of(tensor: tvm.runtime.Tensor) -> int:
    """Return the number of a constant's bytes, without a copy of it."""
    return prod(tensor.shape) * int(tvm.DataType(str(tensor.dtype)).itemsize)


def is_number(expr: Any) -> bool:
    """Tell whether an argument or a parameter of a function is a number, not a tensor."""
    return isinstance(expr.ty, tvm.ir.PrimType)


_Value: TypeAlias = "Place | tuple[_Value, ...]"


class _Reader:
    """Follows the variables of a function to the memory that they stand for."""

    def __init__(self, mod: tvm.IRModule, is_view: Callable[[Any], bool], takes_open: bool) -> None:
        self.calls: list[Call] = []
        self.constants: list[tvm.runtime.Tensor] = []
        self.temporaries: list[int] = []
        self._type_spec = type_spec if takes_open else static_spec
        self._viewable = (Input, Temporary) if takes_open else (Temporary,)
        self._mod = mod
        self._main = main = mod["main"]
        self._is_view = is_view
        self._viewed: dict[Place, Place] = {}
        self._values: dict[relax.Var, _Value] = {
            parameter: Input(number) for number, parameter in enumerate(main.params)
        }
        self._known_constants: Distinct[Constant] = Distinct()

    def read(self) -> list[Place]:
        """Read the calls; return the memory of the results."""
        body = self._main.body
        for block in body.blocks if isinstance(body, relax.SeqExpr) else ():
            for binding in block.bindings:
                if not isinstance(binding, relax.VarBinding):
                    raise NotCallsError(type(binding).__name__)
                self._values[binding.var] = self._value(binding.value)
        result = self._value(body.body if isinstance(body, relax.SeqExpr) else body)
        return self._places(result)

    def _value(self, expr: relax.Expr) -> _Value:
        for kind, rule in _RULES.items():
            if isinstance(expr, kind):
                return rule(self, expr)
        raise NotCallsError(type(expr).__name__)

    def _variable(self, expr: relax.Var) -> _Value:
        if expr not in self._values:
            raise NotCallsError(f"the open size {expr.name}")
        return self._values[expr]

    def _constant(self, expr: tvm.ir.GenericConst) -> _Value:
        def add() -> Constant:
            self.constants.append(expr.value)
            return Constant(len(self.constants) - 1)

        # Kernels of several layers may have equal constants, each made separately.
        return self._known_constants.value(view_of(expr.value), add)

    def _tuple(self, expr: relax.Tuple) -> _Value:
        return tuple(self._value(field) for field in expr.fields)

    def _item(self, expr: relax.TupleGetItem) -> _Value:
        fields = self._value(expr.tuple_value)
        if not isinstance(fields, tuple):
            raise NotCallsError("tensors of a tuple that is given")
        return fields[expr.index]

    def _call(self, expr: relax.Call) -> _Value:
        if isinstance(expr.op, tvm.ir.GlobalVar):
            tensors = [arg for arg in expr.args if not is_number(arg)]
            places = [place for arg in tensors for place in self._places(self._value(arg))]
            sizes = _sizes_of(self._mod[expr.op], expr.args)
            if sizes and self._type_spec is static_spec:
                raise NotCallsError("an open size")
            is_view = self._is_view(self._mod[expr.op])
            if is_view and isinstance(places[0], self._viewable):
                source, copy = places
                self._viewed[copy] = source
            else:
                self.calls.append(Call(expr.op.name_hint, tuple(places), sizes))
            return ()
        if isinstance(expr.op, tvm.ir.Op) and expr.op.name in _OPERATORS:
            return _OPERATORS[expr.op.name](self, expr)
        name = expr.op.global_symbol if isinstance(expr.op, relax.ExternFunc) else expr.op
        raise NotCallsError(str(getattr(name, "name", name)))

    def _allocate(self, expr: relax.Call) -> _Value:
        spec = self._type_spec(expr.ty, "a tensor between two calls")
        self.temporaries.append(prod(spec.shape) * np.dtype(spec.dtype).itemsize)
        return Temporary(len(self.temporaries) - 1)

    def _same_memory(self, expr: relax.Call) -> _Value:
        return self._value(expr.args[0])

    def _places(self, value: _Value) -> list[Place]:
        if isinstance(value, tuple):
            return [place for field in value for place in self._places(field)]
        return [self._viewed.get(value, value)]


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
