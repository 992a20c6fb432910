"""Groups of a quantize, the operator before it and its dequantizes; and the table of rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tvm
from tvm import relax

from qnn_ops import dequantize
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME, bias_steps
from qnn_ops.arithmetic.xnnpack import XNNPACK, reciprocal
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import QUANTIZED, Scale, ZeroPoint
from qnn_ops.dialect.registry import Attrs, attrs_of, constant_of, operator_of, spec_of

MOVEMENTS = {
    f"relax.{name}"
    for name in (
        *("broadcast_to", "expand_dims", "flatten", "permute_dims", "reshape", "squeeze"),
        *("strided_slice", "tile"),
    )
}
"""Operators that return their first operand's values unchanged."""

_NEAR, _SHARE = np.float32(1e-6), np.float32(1e-2)
"""ONNX Runtime 1.32's tolerances, absolute and relative, of a bias's scale beside the product."""


class LeftInFloatError(Exception):
    """Raised by a rule if the runtime computes a group in float; says why."""


class NoRuleError(Exception):
    """Raised by a rule if the runtime computes a group in integers, and no rule does."""


@dataclass(frozen=True)
class Operand:
    """A dequantized operand of an operator.

    Attributes:
        data: the integers.
        scale: real value of one step, or one per channel along ``axis``.
        zero_point: the integer that means 0, or one per channel.
        axis: the axis of the channels.
    """

    data: relax.Expr
    scale: Scale
    zero_point: ZeroPoint
    axis: int

    @property
    def dtype(self) -> str:
        """The dtype of the integers."""
        return spec_of(self.data).dtype

    @property
    def encoding(self) -> tuple[Any, Any, str]:
        """Scale, zero point and dtype."""
        return self.scale, self.zero_point, self.dtype

    @property
    def has_several(self) -> bool:
        """Whether it has several scales or zero points."""
        return isinstance(self.scale, tuple) or isinstance(self.zero_point, tuple)

    def named(self, name: str) -> dict[str, Any]:
        """Return the attributes by which operators name the encoding of an operand."""
        return {f"{name}_scale": self.scale, f"{name}_zero_point": self.zero_point}

    def bias_steps(self, weights: Operand) -> Array:
        """Return the real value of a step of a bias: one number, or one per channel."""
        scales = np.asarray(weights.scale, np.float32)
        return np.asarray(np.asarray(self.scale, np.float32) * scales)

    def bias_factors(self, weights: Operand) -> Array:
        """Return the number of a bias's steps in 1, as ExecuTorch computes it for XNNPACK.

        It multiplies scales per channel in float32, even for a single channel, and other scales in
        float64.
        """
        if isinstance(weights.scale, tuple) or weights.axis >= 0:
            return reciprocal(self.bias_steps(weights))
        scale = float(np.asarray(self.scale) * np.asarray(weights.scale))
        return np.asarray(1.0 / scale, np.float32)


@dataclass(frozen=True, eq=False)
class Group:
    """The expression that a quantize quantizes.

    Attributes:
        attrs: the quantize's attributes.
        builder: the new function's builder.
        values: the bindings of the function's variables.
        uses: how often each variable is read.
        renewed: returns the rewritten expression.
        bounds: the lowest and highest value of the result, if an activation bounds it.
        may_merge: whether XNNPACK may merge an activation with the quantized product before it:
            the quantize reads the activation itself, and no operator reads the result as both of
            its operands.
    """

    attrs: Attrs
    builder: relax.BlockBuilder
    values: Mapping[Any, Any]
    uses: Mapping[Any, int]
    renewed: Callable[[relax.Expr], relax.Expr]
    bounds: tuple[int, int] | None = None
    may_merge: bool = True

    @property
    def arithmetic(self) -> str:
        """The arithmetic of the group's integers."""
        return str(self.attrs.arithmetic)

    @property
    def runtime(self) -> Runtime:
        """The runtime whose integers the group reproduces."""
        return RUNTIMES[self.arithmetic]

    def bounded(self, bounds: tuple[int, int]) -> Group:
        """Return the group with these bounds of its result."""
        return replace(self, bounds=bounds)

    @property
    def encoding(self) -> tuple[float, int, str]:
        """Scale, zero point and dtype of the result."""
        return self.attrs.scale, self.attrs.zero_point, self.attrs.out_dtype

    def folded(self, expr: relax.Expr) -> relax.Expr:
        """Return the integers of the quantized ``expr``.

        Raises:
            LeftInFloatError: the runtime computes it in float.
            NoRuleError: the runtime computes it in integers, and no rule does.
        """
        call = self.value(expr)
        is_part = isinstance(call, relax.TupleGetItem)
        name = "relax.split" if is_part else operator_name(call)
        if isinstance(expr, relax.Var) and self.uses.get(expr, 0) > 1:
            raise LeftInFloatError(f"the result of {name} has other readers")
        if name not in self.runtime.rules:
            raise LeftInFloatError(f"{self.runtime.name} has no integers for {name or 'this'}")
        return self.runtime.rules[name](self, call)

    def value(self, expr: relax.Expr) -> Any:
        """Return a variable's value; return anything else unchanged."""
        return self.values.get(expr) if isinstance(expr, relax.Var) else expr

    def quantized(self, expr: relax.Expr) -> Operand:
        """Return the integers that ``expr`` dequantizes, perhaps with movements in between.

        Raises:
            LeftInFloatError: ``expr`` dequantizes nothing.
        """
        value = self.value(expr)
        if operator_name(value) in MOVEMENTS:
            inner = self.quantized(value.args[0])
            if isinstance(inner.scale, float):
                moved = relax.Call(value.op, [inner.data, *value.args[1:]], value.attrs)
                return Operand(self.builder.emit(moved), inner.scale, inner.zero_point, -1)
        if operator_of(value) is not dequantize:
            raise LeftInFloatError("an operand is float")
        attrs = attrs_of(value)
        return Operand(self.renewed(value.args[0]), attrs.scale, attrs.zero_point, attrs.axis)

    def activation(self, expr: relax.Expr) -> Operand:
        """Return an operand that has one scale, and the dtype of the result.

        Raises:
            LeftInFloatError: the operand has several scales, or another dtype.
        """
        operand = self.quantized(expr)
        if operand.has_several:
            raise LeftInFloatError("an operand has several scales")
        if operand.dtype != self.attrs.out_dtype or operand.dtype not in QUANTIZED:
            raise LeftInFloatError(
                f"operands and result must be of one 8-bit dtype, got {operand.dtype} and "
                f"{self.attrs.out_dtype}"
            )
        return operand

    def check_bias(self, expr: relax.Expr, data: Operand, weights: Operand) -> None:
        """Raise unless ONNX Runtime accepts the bias of a convolution as integers.

        Its scales must be the products of the data's and the weights' scales, within a hundredth.

        Raises:
            LeftInFloatError: the scales are others, or the zero point is not 0.
        """
        value = self._unmoved(expr)
        if not self.runtime.compares_scales or operator_of(value) is not dequantize:
            return
        attrs, wanted = attrs_of(value), self._float32(data.bias_steps(weights))
        far = np.abs(self._float32(attrs.scale) - wanted) > _NEAR + _SHARE * np.abs(wanted)
        if np.any(far) or np.any(np.asarray(attrs.zero_point)):
            raise LeftInFloatError("the scale of the bias is not that of data times weights")

    def _unmoved(self, expr: relax.Expr) -> Any:
        """Return the value before the movements that lead to a variable."""
        value = self.value(expr)
        while operator_name(value) in MOVEMENTS:
            value = self.value(value.args[0])
        return value

    @staticmethod
    def _float32(numbers: Any) -> Array:
        return np.asarray(numbers, np.float32).reshape(-1)

    def bias(self, expr: relax.Expr, data: Operand, weights: Operand, channels: int) -> Array:
        """Return a bias in steps of the products of data and weights, one per channel.

        Raises:
            LeftInFloatError: it is no constant.
            NoRuleError: the bias does not have one value for each channel.
        """
        integers = self.bias_integers(expr, data, weights)
        if integers.size not in (1, channels) or integers.shape[-1:] == ():
            raise NoRuleError(f"a bias of shape {integers.shape} for {channels} channels")
        return np.broadcast_to(integers.reshape(-1), channels).copy()

    def bias_integers(self, expr: relax.Expr, data: Operand, weights: Operand) -> Array:
        """Return a bias in steps of the products of data and weights, in its own shape.

        Raises:
            LeftInFloatError: it is no constant.
            NoRuleError: the bias is broadcast.
        """
        value = self._unmoved(expr)
        if operator_of(value) is dequantize:
            integers = constant_of(value.args[0])
            if integers is None or integers.dtype != np.int32:
                raise LeftInFloatError("a bias must be a constant of int32")
        else:
            real = constant_of(value)
            if real is None:
                raise LeftInFloatError("a bias must be a constant")
            integers = self.runtime.bias(real.reshape(-1).astype(np.float32), data, weights)
        shape = spec_of(expr).shape
        if integers.size != math.prod(shape):
            raise NoRuleError(f"a bias of shape {integers.shape} that is repeated to {shape}")
        return integers.reshape(shape)

    def result(self) -> dict[str, Any]:
        """Return the attributes by which operators name the result's encoding."""
        names = ("output_scale", "output_zero_point", "out_dtype")
        ends = dict(zip(("out_min", "out_max"), self.bounds or (), strict=False))
        return {**dict(zip(names, self.encoding, strict=True)), **ends}


Rule = Callable[[Group, relax.Call], relax.Expr]
"""Returns the integers that a group quantizes, or raises as ``Group.folded`` does."""

Biased = Callable[[Group, relax.Call, "relax.Expr | None"], relax.Expr]
"""A rule with one more argument: the bias of the operator's result, or None."""


@dataclass(frozen=True)
class Runtime:
    """A runtime whose integers groups reproduce.

    Attributes:
        name: the name in messages.
        bias: returns a float32 bias in steps of the products of data and weights.
        compares_scales: whether its result depends on the scale of an integer bias.
        multiplies_activations: whether it multiplies two activations in integers.
        rules: rules by the name of the Relax operator.
        biased: rules of operators to which a bias may be added, by the name of the Relax operator.
    """

    name: str
    bias: Callable[[Array, Operand, Operand], Array]
    compares_scales: bool
    multiplies_activations: bool
    rules: dict[str, Rule] = field(default_factory=dict)
    biased: dict[str, Biased] = field(default_factory=dict)


def _bias_onnxruntime(values: Array, data: Operand, weights: Operand) -> Array:
    return bias_steps(values, data.bias_steps(weights))


def _bias_xnnpack(values: Array, data: Operand, weights: Operand) -> Array:
    steps = np.rint(values * data.bias_factors(weights)).astype(np.float64)
    return np.clip(steps, -(2.0**31), 2.0**31 - 1).astype(np.int32)


RUNTIMES = {
    ONNXRUNTIME: Runtime("ONNX Runtime", _bias_onnxruntime, True, True),
    XNNPACK: Runtime("XNNPACK", _bias_xnnpack, False, False),
}
"""The runtimes by arithmetic."""


def rule(*names: str, arithmetics: Sequence[str] = (ONNXRUNTIME,)) -> Callable[[Rule], Rule]:
    """Register the rule of Relax operators."""

    def decorate(function: Rule) -> Rule:
        for arithmetic in arithmetics:
            RUNTIMES[arithmetic].rules.update({f"relax.{name}": function for name in names})
        return function

    return decorate


def biased(name: str, *, arithmetics: Sequence[str] = (ONNXRUNTIME,)) -> Callable[[Biased], Biased]:
    """Register the rule of a Relax operator to which a bias may be added."""

    def decorate(function: Biased) -> Biased:
        for arithmetic in arithmetics:
            runtime = RUNTIMES[arithmetic]
            runtime.biased[f"relax.{name}"] = function
            runtime.rules[f"relax.{name}"] = lambda group, call: function(group, call, None)
        return function

    return decorate


def operator_name(value: Any) -> str:
    """Return the name of the operator that ``value`` calls; empty if it calls none."""
    is_call = isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op)
    return str(value.op.name) if is_call else ""


def one_point(operand: Operand) -> int:
    """Return the zero point of weights.

    Raises:
        LeftInFloatError: the weights have several zero points.
    """
    points = np.unique(np.asarray(operand.zero_point))
    if points.size != 1:
        raise LeftInFloatError("the weights have several zero points")
    return int(points[0])


def check_weights(data: Operand, weights: Operand) -> None:
    """Raise unless the runtimes multiply data and weights of these dtypes in integers."""
    if weights.dtype not in QUANTIZED or (data.dtype, weights.dtype) == ("int8", "uint8"):
        raise LeftInFloatError(f"{data.dtype} data cannot have {weights.dtype} weights")


def check_axis(weights: Operand, axis: int, units: str) -> None:
    """Raise if weights have several scales or zero points along another axis than that of units."""
    if weights.has_several and weights.axis % len(spec_of(weights.data).shape) != axis:
        raise LeftInFloatError(f"the weights' scales are not of {units}")
