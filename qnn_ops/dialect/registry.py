"""One decorator that turns a Python function into a Relax operator.

An operator's file contains the public function with the operator's traits, its type rule, its numpy
reference, and a rule that tells when the model's own framework would overflow. The function has no
body: its signature declares the operands and attributes, by the types of
``qnn_ops.dialect.declared``::

    @operator(traits=Traits(...))
    def quantized_relu(quantized_data: Activations, input_scale: InputScale, ...) -> None: ...

    @quantized_relu.type_rule
    def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec: ...

    @quantized_relu.reference
    def _reference(attrs: Attrs, data: np.ndarray) -> np.ndarray: ...

    @quantized_relu.overflow_rule
    def _overflow(attrs: Attrs, known: Known, data: TensorSpec) -> None: ...

An operator whose integers cannot overflow says ``@operator(..., overflows=False)`` instead.

The operator is then known to TVM as ``relax.qnn.quantized_relu``, prints in TVMScript as
``R.qnn.quantized_relu(x, kind="relu", ...)`` and parses back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias

import numpy as np
import tvm
from tvm import relax
from tvm.relax import script as relax_script
from tvm.relax.script import parser as relax_parser

from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import LITERT, list_attr
from qnn_ops.dialect.declared import Declaration, arithmetic_of
from qnn_ops.dialect.plain import Same, plain
from qnn_ops.dialect.sizes import is_open, sizes_of
from qnn_ops.dialect.traits import Traits
from qnn_ops.errors import QnnError

P = ParamSpec("P")

PREFIX = "relax.qnn."

# The calls of some 300 layers. An entry keeps 3 KB, and 45 bytes for each channel's scale.
_KEPT = 1024


@dataclass(frozen=True)
class TensorSpec:
    """The facts of a tensor that a type rule sees: its shape and its dtype.

    A size that only a run decides is a ``qnn_ops.dialect.sizes.Size``.
    """

    shape: tuple[int, ...]
    dtype: str


class Attrs(SimpleNamespace):
    """An operator's attributes as plain Python values, by the names of the public function.

    Each operator has a subclass. Its class attributes are the defaults of implied attributes, which
    calls leave out.
    """


Operand: TypeAlias = "TensorSpec | tuple[TensorSpec, ...]"
TypeRule = Callable[..., TensorSpec]
Reference = Callable[..., Any]


class Known(Protocol):
    """The constant operands of a call, by their indices."""

    def __call__(self, index: int) -> Array:
        """Return the value of an operand, which must be constant."""

    def has(self, index: int) -> bool:
        """Tell whether an operand is constant."""


OverflowRule = Callable[..., "str | None"]
"""``rule(attrs, known, *specs)`` raises if a framework's integers could overflow.

If they are known to wrap, it returns a text about that instead.
"""


class Operator(Generic[P]):
    """A Relax operator of this dialect; calling it builds the call."""

    def __init__(self, function: Callable[P, None], traits: Traits | None, name: str = "") -> None:
        """Register ``function``, by its own name or another."""
        self.name = self.__name__ = name or function.__name__
        self.declaration = Declaration(function)
        self.tensors = self.declaration.tensors
        self.attrs: type[Attrs] = type("Attrs", (Attrs,), self.declaration.implied)
        self.__doc__ = self.declaration.document(function.__doc__ or "")
        self.__signature__ = self.declaration.signature(relax.Call)
        self._type_rule: TypeRule | None = None
        self._references: dict[str, Reference] = {}
        self._overflow_rule: OverflowRule | None = None
        self._traits = traits
        op_name = PREFIX + self.name
        tvm.ir.register_op_attr(op_name, "FInferType", self._infer_type)
        tvm.ir.register_op_attr(op_name, "FPurity", True)
        self.op = tvm.ir.Op.get(op_name)
        OPERATORS[op_name] = self
        setattr(R_QNN, self.name, self._from_script)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> relax.Call:
        """Build the Relax call; see the operator's own documentation for the arguments."""
        given = self.declaration.given(args, kwargs)
        operands = [self._operand(name, given[name]) for name in self.tensors]
        return self.call(operands, **self.declaration.attrs(given))

    def __repr__(self) -> str:
        """Return the operator's name in TVM."""
        return f"<operator {PREFIX}{self.name}>"

    def type_rule(self, rule: TypeRule) -> TypeRule:
        """Decorate the rule that checks the operands and gives the result's shape and dtype."""
        self._type_rule = rule
        return rule

    def reference(self, function: Reference) -> Reference:
        """Decorate the operator's computation in numpy: ``function(attrs, *arrays)``."""
        self._references[LITERT] = function
        return function

    def computed_by(self, arithmetic: str, function: Reference) -> None:
        """Register the operator's computation in another arithmetic than LiteRT's."""
        self._references[arithmetic] = function
        others = [name for name in self._references if name != LITERT]
        self.declaration.attributes["arithmetic"] = arithmetic_of(LITERT, *others)

    def overflow_rule(self, rule: OverflowRule) -> OverflowRule:
        """Decorate the rule that raises if LiteRT's integers could overflow (others' cannot)."""
        self._overflow_rule = rule
        return rule

    @property
    def traits(self) -> Traits:
        """The facts about the operator that passes need."""
        if self._traits is None:
            raise QnnError(f"{self.name}: the operator states no traits")
        return self._traits

    @property
    def elementwise(self) -> int:
        """The traits' ``elementwise``; 0 if the operator states no traits."""
        return 0 if self._traits is None else self._traits.elementwise

    def call(self, operands: Sequence[Any], **attrs: Any) -> relax.Call:
        """Build a call from operands (trailing ``None`` left out) and normalised attributes."""
        operands = _without_last(operands)
        if any(operand is None for operand in operands):
            raise QnnError(f"{self.name}: an operand before the last one is missing")
        for name, operand in zip(self.tensors, operands, strict=False):
            check_expr(f"{self.name}: {name}", operand)
        return relax.Call(self.op, operands, attrs_node(attrs))

    def _operand(self, name: str, value: Any) -> Any:
        """Return an operand; an operand that is declared as several tensors becomes a tuple."""
        if name not in self.declaration.tuples or isinstance(value, relax.Expr):
            return value
        fields = list_attr(name, value)
        for index, field in enumerate(fields):
            check_expr(f"{name}[{index}]", field)
        return relax.Tuple(fields)

    def infer(self, attrs: Attrs, *operands: Operand) -> TensorSpec:
        """Apply the type rule; an error names the operator."""
        if self._type_rule is None:
            raise QnnError(f"{self.name}: the operator has no type rule")
        try:
            self.declaration.check(attrs, operands)
            return self._type_rule(attrs, *operands)
        except QnnError as error:
            raise QnnError(f"{self.name}: {error}") from None
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            # An attribute or operand is missing or of another kind: the call was made without the
            # function.
            raise QnnError(f"{self.name}: malformed call: {error}") from error

    def apply(self, attrs: Attrs, *arrays: Any) -> Array:
        """Compute a call with these attributes in numpy, after checking its types."""
        if self._references.get(LITERT) is None:
            raise QnnError(f"{self.name}: the operator has no reference")
        spec = self.infer(attrs, *(_array_spec(array) for array in arrays))
        result = np.asarray(self.compute(attrs, *arrays))
        if result.shape != spec.shape or result.dtype != spec.dtype:
            raise QnnError(
                f"{self.name}: the reference gave {result.dtype}{result.shape}, "
                f"the type rule says {spec.dtype}{spec.shape}"
            )
        return result

    def compute(self, attrs: Attrs, *values: Any) -> Any:
        """Apply the reference of a call's arithmetic to arrays or expressions, without checks."""
        return self._references[getattr(attrs, "arithmetic", LITERT)](attrs, *values)

    def check_overflow(self, attrs: Attrs, known: Known, *operands: Operand) -> str:
        """Raise if the framework's integers could overflow; the error names the operator.

        Returns:
            The integers that wrap, if any can.
        """
        if self._overflow_rule is None:
            raise QnnError(f"{self.name}: the operator does not say when it overflows")
        if getattr(attrs, "arithmetic", LITERT) != LITERT:
            return ""
        try:
            wraps = self._overflow_rule(attrs, known, *operands)
        except QnnError as error:
            raise QnnError(f"{self.name}: {error}") from None
        return f"{self.name}: {wraps}" if wraps else ""

    def evaluate(self, *args: P.args, **kwargs: P.kwargs) -> Array:
        """Compute the operator in numpy: the arguments are a call's, but tensors are arrays."""
        given = self.declaration.given(args, kwargs)
        arrays = [given[name] for name in self.tensors]
        attrs = {name: plain(each) for name, each in self.declaration.attrs(given).items()}
        return self.apply(self.attrs(**attrs), *_without_last(arrays))

    def operands(self, call: relax.Call) -> list[Operand]:
        """Return shape and dtype of each operand of a call of the operator."""
        return [_operand_spec(self, index, arg) for index, arg in enumerate(call.args)]

    def _infer_type(self, call: relax.Call, _builder: relax.BlockBuilder) -> relax.TensorType:
        key = Same(call if call.attrs is None else call.attrs, attrs_of(call))
        spec = _inferred(self, key, *self.operands(call))
        return relax.TensorType(spec.shape, spec.dtype)

    def _from_script(self, *operands: Any, **attrs: Any) -> relax.Call:
        build: Callable[..., relax.Call] = self
        named = dict(zip(self.tensors, operands, strict=False))
        # The dialect's own spelling has the tensors first and the rest by name; positional
        # attributes (the public function's order) are for people who write TVMScript by hand.
        if len(operands) > len(self.tensors):
            return build(*operands, **attrs)
        return build(**named, **attrs)


OPERATORS: dict[str, Operator[Any]] = {}
"""Every operator of the dialect, by its name in TVM."""

R_QNN = SimpleNamespace()
"""The namespace ``R.qnn`` of TVMScript."""

# The first is the R of a function in a Python file, the second that of text.
relax_script.qnn = R_QNN
relax_parser.qnn = R_QNN


def operator(
    *, traits: Traits | None = None, overflows: bool = True
) -> Callable[[Callable[P, None]], Operator[P]]:
    """Register the decorated declaration as a Relax operator.

    Args:
        traits: the facts that passes need; without them no such pass takes the operator.
        overflows: False if its integers cannot leave int32, or wrap as the framework's do: it needs
            no overflow rule.
    """

    def decorate(function: Callable[P, None]) -> Operator[P]:
        declared = Operator(function, traits)
        if not overflows:
            declared.overflow_rule(lambda _attrs, _known, *_operands: None)
        return declared

    return decorate


def operator_of(expr: Any) -> Operator[Any] | None:
    """Return the dialect's operator that ``expr`` calls, or None if it calls none."""
    if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
        return OPERATORS.get(expr.op.name)
    return None


def attrs_of(call: relax.Call) -> Attrs:
    """Return a call's attributes as plain Python values."""
    operator = operator_of(call)
    kind = Attrs if operator is None else operator.attrs
    return kind() if call.attrs is None else kind(**_values(Same(call.attrs)))


def attrs_node(values: Mapping[str, Any]) -> tvm.ir.Attrs:
    """Return attributes for a call. ``attrs_of`` knows their values without reading them."""
    known = {name: plain(value) for name, value in values.items()}
    node = tvm.ir.make_node("ir.DictAttrs", **known)
    _values(Same(node, known))
    return node


def with_attrs(call: relax.Call, **changes: Any) -> relax.Call:
    """Return the call with some attributes changed, and the same operands."""
    return relax.Call(call.op, list(call.args), attrs_node({**vars(attrs_of(call)), **changes}))


@lru_cache(maxsize=_KEPT)
def _values(key: Same) -> dict[str, Any]:
    return key.known or {name: plain(value) for name, value in key.of.items()}


@lru_cache(maxsize=_KEPT)
def _inferred(operator: Operator[Any], attrs: Same, *operands: Operand) -> TensorSpec:
    # Passes build calls again with the attributes and the types that they had.
    return operator.infer(attrs.known, *operands)


def check_expr(name: str, value: Any) -> None:
    """Raise unless ``value`` is a Relax expression: TVM does not survive a tuple of others."""
    if not isinstance(value, relax.Expr):
        raise QnnError(f"{name} must be a Relax expression, got {type(value).__name__}")


def constant_of(expr: relax.Expr) -> Array | None:
    """Return the read-only value of a constant tensor, or None for any other expression."""
    return view_of(expr.value) if isinstance(expr, tvm.ir.GenericConst) else None


def view_of(tensor: tvm.runtime.Tensor) -> Array:
    """Return a tensor's values, read-only, without a copy unless numpy lacks the dtype."""
    try:
        array = np.from_dlpack(tensor)
    except (BufferError, RuntimeError):
        array = tensor.numpy()
    array.flags.writeable = False
    return array


def as_const(array: Array) -> tvm.ir.GenericConst:
    """Return an array as a constant; Relax's own function makes two copies of it."""
    return relax.const(tvm.runtime.tensor(array))


def spec_of(expr: relax.Expr, name: str = "an expression") -> TensorSpec:
    """Return shape and dtype of a normalised tensor expression. Errors call it ``name``.

    Raises:
        QnnError: if it is no tensor, or its sizes or its dtype are unknown.
    """
    return type_spec(expr.ty, name)


def type_spec(ty: Any, name: str) -> TensorSpec:
    """Return shape and dtype of a tensor type; raise QnnError as ``spec_of`` does."""
    if not isinstance(ty, relax.TensorType):
        raise QnnError(f"{name} must be a tensor, got {ty}")
    if not isinstance(ty.shape, relax.ShapeExpr):
        raise QnnError(f"{name} must have a shape known at compile time, got {ty}")
    return _spec(Same(ty))


@lru_cache(maxsize=_KEPT)
def _spec(key: Same) -> TensorSpec:
    return TensorSpec(sizes_of(key.of.shape.values), str(key.of.dtype))


def static_spec(ty: Any, name: str) -> TensorSpec:
    """Return shape and dtype of a tensor type; raise QnnError also if a size is open."""
    spec = type_spec(ty, name)
    if is_open(spec.shape):
        raise QnnError(f"{name} must have a shape known at compile time, got {ty}")
    return spec


def _operand_spec(op: Operator[Any], index: int, arg: relax.Expr) -> Operand:
    name = op.tensors[index] if index < len(op.tensors) else f"operand {index}"
    if isinstance(arg.ty, relax.TupleType):
        return tuple(
            type_spec(field, f"{op.name}: {name}[{i}]") for i, field in enumerate(arg.ty.fields)
        )
    return type_spec(arg.ty, f"{op.name}: {name}")


def _array_spec(value: Any) -> Operand:
    if isinstance(value, (list, tuple)):
        return tuple(TensorSpec(array.shape, str(array.dtype)) for array in value)
    return TensorSpec(value.shape, str(value.dtype))


def _without_last(operands: Sequence[Any]) -> list[Any]:
    """Return operands up to the last one that is given."""
    count = max((number for number, each in enumerate(operands, 1) if each is not None), default=0)
    return list(operands[:count])
