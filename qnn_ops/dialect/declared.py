"""The operands and attributes that operators declare.

An operator's function annotates its parameters with these types, and its ``Declaration`` reads
them. To type checkers they are the types of the values. An operand states its dtypes and the
number of its dimensions, and a type rule sees only operands that fit; a plain ``relax.Expr``
declares nothing. An attribute states its form, values and documentation once.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias, get_args, get_origin

import numpy as np
from tvm import relax

from qnn_ops.dialect import attributes
from qnn_ops.dialect.attributes import (
    ACTIVATIONS,
    LITERT,
    QUANTIZED,
    Scale,
    ZeroPoint,
    check_choice,
    check_dtype,
    check_rank,
    dtype_range,
)
from qnn_ops.dialect.layouts import DATA_LAYOUTS, KERNEL_LAYOUTS

_ENTRY = re.compile(r"    (\w+): ")

_ERRORS = (
    "    QnnError: if a dtype, a shape or an attribute does not fit (raised when the call's type",
    "        is inferred).",
)

Given: TypeAlias = "Mapping[str, Any]"
"""The arguments of a call, by the names of the parameters."""


class Tensor(NamedTuple):
    """A declared operand.

    Attributes:
        dtypes: those that it may have; empty for any.
        rank: the number of its dimensions; None for any.
    """

    dtypes: tuple[str, ...]
    rank: int | None = None


@dataclass(frozen=True)
class Attribute:
    """A declared attribute.

    Attributes:
        form: brings a value to the form that calls have: (name, value) -> value.
        text: documents the attribute, unless the operator's own docstring does.
        allowed: the values that it may have; empty for any.
        implied: whether a call has it only if it differs from the default.
        default: computes the value that the parameter's default stands for.
        needed: tells from a call's other arguments whether it has this attribute.
    """

    form: Callable[[str, Any], Any]
    text: str = ""
    allowed: tuple[str, ...] = ()
    implied: bool = False
    default: Callable[[Given], Any] | None = None
    needed: Callable[[Given], bool] | None = None


def scale(text: str, **rules: Any) -> Attribute:
    """Declare a scale, or one per channel."""
    return Attribute(lambda _, value: attributes.scale_attr(value), text, **rules)


def zero_point(text: str, **rules: Any) -> Attribute:
    """Declare a zero point, or one per channel."""
    return Attribute(lambda _, value: attributes.zero_point_attr(value), text, **rules)


def choice(*allowed: str, text: str = "", **rules: Any) -> Attribute:
    """Declare one of some names."""
    quoted = " or ".join(f'"{each}"' for each in allowed)
    return Attribute(_as_given, text or f"{quoted}.", allowed, **rules)


def arithmetic_of(*names: str) -> Attribute:
    """Declare a choice of frameworks whose integers a call computes; the default is LiteRT."""
    return choice(*names, implied=True)


def bound(end: int, text: str) -> Attribute:
    """Declare a bound of the result: by default the lowest (0) or highest (1) of ``out_dtype``."""
    return Attribute(
        attributes.int_attr, text, default=lambda given: dtype_range(given["out_dtype"])[end]
    )


def _as_given(_: str, value: Any) -> Any:
    return value


def flag(_: str, value: Any) -> bool:
    """Return whether a value is true."""
    return bool(value)


def _pair(name: str, value: Any) -> list[int]:
    return attributes.ints_attr(name, value, 2)


def _floats(_: str, values: Any) -> list[float]:
    return [float(value) for value in values]


def _axes(name: str, value: Any) -> list[int]:
    if np.ndim(value) == 0:
        return [attributes.int_attr(name, value)]
    return attributes.int_list_attr(name, value)


def _scales(name: str, values: Any) -> list[Any]:
    return [attributes.scale_attr(value) for value in attributes.list_attr(name, values)]


def _zero_points(name: str, values: Any) -> list[Any]:
    return [attributes.zero_point_attr(value) for value in attributes.list_attr(name, values)]


_FLOAT32 = ("float32",)

Activations: TypeAlias = Annotated[relax.Expr, Tensor(ACTIVATIONS)]
Images: TypeAlias = Annotated[relax.Expr, Tensor(ACTIVATIONS, 4)]
Kernel: TypeAlias = Annotated[relax.Expr, Tensor(QUANTIZED, 4)]
WeightMatrix: TypeAlias = Annotated[relax.Expr, Tensor(QUANTIZED, 2)]
Quantized: TypeAlias = Annotated[relax.Expr, Tensor((*QUANTIZED, "int16", "int32"))]
Bytes: TypeAlias = Annotated[relax.Expr, Tensor(("uint8",), 2)]
Int32: TypeAlias = Annotated[relax.Expr, Tensor(("int32",))]
Floats: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32)]
FloatVector: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32, 1)]
FloatMatrix: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32, 2)]
FloatImages: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32, 4)]

Arithmetic = Annotated[str, arithmetic_of(LITERT)]
Text = Annotated[str, Attribute(_as_given)]
Names = Annotated[Sequence[str], Attribute(attributes.list_attr)]
Flag = Annotated[bool, Attribute(flag)]
ImpliedFlag = Annotated[bool, Attribute(flag, implied=True)]
Int = Annotated[int, Attribute(attributes.int_attr)]
ImpliedInt = Annotated[int, Attribute(attributes.int_attr, implied=True)]
OptionalInt = Annotated[int | None, Attribute(attributes.int_attr)]
Ints = Annotated[Sequence[int], Attribute(attributes.int_list_attr)]
Float = Annotated[float, Attribute(attributes.float_attr)]
OptionalFloat = Annotated[float | None, Attribute(attributes.float_attr)]
Double = Annotated[float, Attribute(lambda _, value: float(value))]
Doubles = Annotated[Sequence[float], Attribute(_floats)]

Axis = Annotated[int, Attribute(attributes.int_attr, "of the channels.")]
Axes = Annotated[int | Sequence[int], Attribute(_axes)]
Size = Annotated[int | Sequence[int], Attribute(_pair)]
OptionalSize = Annotated[int | Sequence[int] | None, Attribute(_pair)]
Strides = Annotated[
    int | Sequence[int],
    Attribute(_pair, "of the window, in pixels: one value or (vertical, horizontal)."),
]
Dilation = Annotated[
    int | Sequence[int],
    Attribute(_pair, "distance of the window's taps: one value or (vertical, horizontal)."),
]
Padding = Annotated[
    int | Sequence[int],
    Attribute(
        lambda _, value: attributes.padding_attr(value),
        "in pixels: one value, (vertical, horizontal) or (top, left, bottom, right).",
    ),
]
Layout = Annotated[str, choice(*DATA_LAYOUTS, text="NHWC or NCHW.")]
KernelLayout = Annotated[str, choice(*KERNEL_LAYOUTS, text="OIHW, OHWI, HWIO, IHWO or HWOI.")]
OutLayout = Annotated[
    str,
    Attribute(
        _as_given,
        "NHWC or NCHW; empty for the data's.",
        DATA_LAYOUTS,
        default=lambda given: given["data_layout"],
    ),
]

OneScale = Annotated[float, scale("")]
ScaleOrScales = Annotated[
    Scale, scale("real value of one step, or one per channel along ``axis``.")
]
Multiplier = Annotated[Scale | None, scale("")]
OnePoint = Annotated[int, zero_point("")]
PointOrPoints = Annotated[ZeroPoint, zero_point("the integer that means 0, or one per channel.")]
Scales = Annotated[Sequence[float], Attribute(_scales)]
ZeroPoints = Annotated[Sequence[int], Attribute(_zero_points)]

InputScale = Annotated[float, scale("real value of one step of the data.")]
InputZeroPoint = Annotated[int, zero_point("the data's value that means 0.")]
OutputScale = Annotated[float, scale("real value of one step of the result.")]
OutputZeroPoint = Annotated[int, zero_point("the result's value that means 0.")]
LhsScale = Annotated[float, scale("real value of one step of ``lhs``.")]
LhsZeroPoint = Annotated[int, zero_point("the value of ``lhs`` that means 0.")]
RhsScale = Annotated[float, scale("real value of one step of ``rhs``.")]
RhsZeroPoint = Annotated[int, zero_point("the value of ``rhs`` that means 0.")]
KernelScale = Annotated[
    Scale, scale("real value of one step of the kernel, or one per output channel.")
]
KernelZeroPoint = Annotated[
    ZeroPoint, zero_point("the kernel's value that means 0, or one per output channel.")
]
OutMin = Annotated[
    int | None,
    bound(0, "lowest value of the result (a fused activation); default: the dtype's."),
]
OutMax = Annotated[int | None, bound(1, "highest value of the result; default: the dtype's.")]


class Declaration:
    """The parameters of an operator's function: tensors and attributes.

    Attributes:
        attributes: what the attributes declare, by their names.
        tensors: the names of the tensors.
        tuples: the names of operands that are several tensors.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        """Read the signature of ``function``: each parameter that is no tensor is an attribute."""
        self._function = function
        self._parameters = inspect.signature(function).parameters
        self._defaults = {name: each.default for name, each in self._parameters.items()}
        names = vars(sys.modules[function.__module__])
        self._types = {
            name: _evaluated(each.annotation, names) for name, each in self._parameters.items()
        }
        declared = {name: _declared(each, Attribute) for name, each in self._types.items()}
        self.attributes = {name: each for name, each in declared.items() if each}
        self.tensors = tuple(name for name, each in declared.items() if not each)
        for name in self.tensors:
            if not _is_tensor(self._types[name]):
                raise TypeError(f"{function.__name__}: {name} declares no attribute")
        self.tuples = {name for name in self.tensors if _is_sequence(self._types[name])}
        self._operands = {name: _declared(self._types[name], Tensor) for name in self.tensors}

    @property
    def implied(self) -> dict[str, Any]:
        """The defaults of the attributes that a call has only if it differs from them."""
        return {
            name: self._defaults[name] for name, each in self.attributes.items() if each.implied
        }

    def given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters' values by their names; raise TypeError as Python's calls do."""
        self._function(*args, **kwargs)
        return {**self._defaults, **dict(zip(self._defaults, args, strict=False)), **kwargs}

    def attrs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of a call with these arguments, each in its form."""
        return dict(self._formed(given))

    def _formed(self, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, attribute in self.attributes.items():
            if attribute.needed and not attribute.needed(given):
                continue
            value, default = given[name], self._defaults[name]
            if attribute.default:
                standing = attribute.default(given)
                value = standing if value is None or value is default else value
            if value is None and default is None:
                continue
            formed = attribute.form(name, value)
            if not (attribute.implied and formed == default):
                yield name, formed

    def check(self, attrs: object, operands: Sequence[Any] = ()) -> None:
        """Raise unless each attribute and operand of a call is as it is declared."""
        for name, attribute in self.attributes.items():
            if attribute.allowed and hasattr(attrs, name):
                check_choice(name, getattr(attrs, name), attribute.allowed)
        for (name, tensor), spec in zip(self._operands.items(), operands, strict=False):
            if tensor is not None and tensor.dtypes:
                check_dtype(name, spec.dtype, tensor.dtypes)
            if tensor is not None and tensor.rank is not None:
                check_rank(name, spec, tensor.rank)

    def signature(self, result: Any) -> inspect.Signature:
        """Return the signature without what the annotations declare, for readers."""
        parameters = [
            each.replace(annotation=_plain(self._types[name]))
            for name, each in self._parameters.items()
        ]
        return inspect.Signature(parameters, return_annotation=result)

    def document(self, text: str) -> str:
        """Add the declared attributes to a documentation, and the errors if it tells none."""
        lines = inspect.cleandoc(text).split("\n")
        if "Args:" not in lines:
            return "\n".join(lines)
        begin = lines.index("Args:") + 1
        end = next(i for i in range(begin, len(lines) + 1) if not lines[i : i + 1] or not lines[i])
        entries: dict[str, list[str]] = {}
        for line in lines[begin:end]:
            if entry := _ENTRY.match(line):
                entries[entry[1]] = []
            entries[next(reversed(entries))].append(line)
        for name, attribute in self.attributes.items():
            entries.setdefault(name, [f"    {name}: {attribute.text}"])
        ordered = [line for name in self._defaults for line in entries[name]]
        errors = [] if "Raises:" in lines else ["", "Raises:", *_ERRORS]
        return "\n".join([*lines[:begin], *ordered, *lines[end:], *errors])


def _evaluated(annotation: Any, names: Mapping[str, Any]) -> Any:
    """Evaluate an annotation. Most are dotted names, which need no slow compiler of Python's."""
    if not isinstance(annotation, str):
        return annotation
    first, *rest = annotation.split(".")
    if first in names and all(part.isidentifier() for part in rest):
        return functools.reduce(getattr, rest, names[first])
    return eval(annotation, dict(names))


def _declared(annotation: Any, kind: type[Any]) -> Any:
    """Return what an annotation declares; None if nothing of this kind."""
    found = getattr(annotation, "__metadata__", ())
    return next((each for each in found if isinstance(each, kind)), None)


def _is_tensor(annotation: Any) -> bool:
    return annotation is relax.Expr or any(map(_is_tensor, get_args(annotation)))


def _is_sequence(annotation: Any) -> bool:
    """Tell whether an operand is declared as several tensors."""
    return any(get_origin(each) is Sequence for each in get_args(annotation))


def _plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
