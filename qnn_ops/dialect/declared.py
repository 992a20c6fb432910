"""The operands and attributes that operators declare.

An operator's function annotates its parameters with these types. ``qnn_ops.dialect.declarations``
reads them. To type checkers they are the types of the values. An operand states its dtypes and the
number of its dimensions, and a type rule sees only operands that fit; a plain ``relax.Expr``
declares nothing. An attribute states its form, values and documentation once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from tvm import relax

from qnn_ops.dialect import attributes
from qnn_ops.dialect.attributes import ACTIVATIONS, LITERT, QUANTIZED, Scale, ZeroPoint, dtype_range
from qnn_ops.dialect.layouts import DATA_LAYOUTS, KERNEL_LAYOUTS

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
