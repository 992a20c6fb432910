"""The part of a model that a conversion rule sees: one operator and its operands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.tflite.model import COMPLEX, VARIANT, Model, Operator, Tensor
from frontends.tflite.operators import Rule, row_of
from frontends.tflite.options.base import Options
from frontends.tflite.values import Values
from qnn_ops.arrays import Array
from qnn_ops.dialect.expressions import Expression
from qnn_ops.dialect.registry import TensorSpec, spec_of
from qnn_ops.errors import QnnError

# Operators compute with these types; tensors of other types hold axes, sizes and the like.
_COMPUTED = ("float32", "int8", "uint8")


@dataclass(frozen=True)
class Operand:
    """An operator's input: the tensor of the file, and its value as an expression."""

    tensor: Tensor
    expr: relax.Expr

    @property
    def shape(self) -> tuple[int, ...]:
        """The value's shape; it differs from the file's if the batch size was changed."""
        return spec_of(self.expr).shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape in the file's terms, which leave out the axis of a complex number's parts."""
        return self.shape[: len(self.shape) - (self.dtype == COMPLEX)]

    @property
    def dtype(self) -> str:
        """The tensor's type in the file."""
        return self.tensor.dtype

    @property
    def label(self) -> str:
        """The tensor's name in errors."""
        return self.tensor.label

    @property
    def is_constant(self) -> bool:
        """Whether the file has the value."""
        return self.tensor.is_constant

    @property
    def quantization(self) -> tuple[float, int]:
        """Scale and zero point of the whole tensor."""
        return per_tensor(self.tensor)


@dataclass(frozen=True)
class Context:
    """One operator of a model, while the model's function is being built."""

    model: Model
    operator: Operator
    builder: ModuleBuilder
    values: Values

    @property
    def emit(self) -> Callable[[relax.Expr], relax.Var]:
        """The function that emits an expression, so that it is computed once."""
        return self.builder.emit

    @property
    def options(self) -> Options:
        """The operator's options."""
        return self.operator.options

    def has(self, position: int) -> bool:
        """Tell whether the operator has that input; optional ones may be left out."""
        inputs = self.operator.inputs
        return position < len(inputs) and inputs[position] >= 0

    def tensor(self, position: int) -> Tensor:
        """Return the file's tensor at an input."""
        if not self.has(position):
            raise QnnError(f"input {position} is missing")
        return self.model.tensors[self.operator.inputs[position]]

    def input(self, position: int, rank: int | None = None) -> Operand:
        """Return an input's value; raise unless it has the given number of dimensions."""
        operand = self.operand(self.tensor(position))
        if rank not in (None, len(operand.shape)):
            raise QnnError(f"{operand.label} must have {rank} dimensions, got {operand.shape}")
        return operand

    def operand(self, tensor: Tensor) -> Operand:
        """Return a tensor's value; other kinds of context return another form of it."""
        return Operand(tensor, self.values.of(tensor))

    def inputs(self, count: int | None = None) -> list[Operand]:
        """Return the values of all inputs; raise unless there are as many as given."""
        found = len(self.operator.inputs)
        if count is not None and found > count:
            raise QnnError(f"has {found} inputs, needs {count}")
        return [self.input(position) for position in range(found if count is None else count)]

    def exprs(self, count: int) -> list[relax.Expr]:
        """Return the values of ``inputs`` as expressions."""
        return [each.expr for each in self.inputs(count)]

    def array(self, position: int) -> Any:
        """Return an input's value as an ``Expression``, with numpy's interface."""
        return self.builder.array(self.input(position).expr)

    def arrays(self, count: int) -> list[Any]:
        """Return the values of ``inputs`` as ``array`` does; raise unless they have one dtype."""
        found = [self.builder.array(each) for each in self.exprs(count)]
        if len({each.dtype for each in found}) > 1:
            raise QnnError(f"inputs of {', '.join(str(each.dtype) for each in found)}")
        return found

    def last_axis(self, position: int) -> Any:
        """Return an input as ``array`` does; raise for a scalar, which has no last axis."""
        data = self.input(position)
        if not data.shape:
            raise QnnError(f"{data.label} is a scalar, which has no last axis")
        return self.builder.array(data.expr)

    def results(self, rule: Rule) -> list[relax.Expr]:
        """Return the results of a rule as expressions of Relax.

        Those of an ``Expression`` are emitted once more, under the names of their tensors.
        """
        found = rule(self)
        each = found if isinstance(found, list) else [found]
        return [one.value if isinstance(one, Expression) else one for one in each]

    def weights(self, position: int) -> Operand:
        """Return an input that must be constant but is large: it becomes a parameter."""
        self.constant(position)
        return self.input(position)

    def constant(self, position: int) -> Array:
        """Read an input that acts as an attribute: axes, a shape, paddings, weights."""
        tensor = self.tensor(position)
        if not tensor.is_constant:
            raise QnnError(f"input {position}, {tensor.label}, must be constant")
        return tensor.array

    def integers(self, position: int, dtypes: Sequence[str] = ("int32",)) -> tuple[int, ...]:
        """Return the data of a constant input as integers or ``Size`` objects, in one row.

        Args:
            position: of the input.
            dtypes: the types that LiteRT takes there.
        """
        tensor, data = self.tensor(position), self.constant(position)
        if tensor.dtype not in dtypes:
            needed = " or ".join(dtypes)
            raise QnnError(f"input {position}, {tensor.label}, must be {needed}, is {tensor.dtype}")
        if data.dtype == object:
            return tuple(data.ravel())
        return tuple(int(value) for value in data.ravel())

    def integer(self, position: int, dtypes: Sequence[str] = ("int32",)) -> int:
        """Return the one integer of a constant input."""
        values = self.integers(position, dtypes)
        if len(values) != 1:
            raise QnnError(f"input {position} must be one integer, got {len(values)}")
        return values[0]

    def single(self, position: int, dtype: str) -> relax.Expr:
        """Return an input of one value as a scalar; raise if it has several, or another type."""
        value = self.input(position)
        if value.dtype != dtype or prod(value.shape) != 1:
            raise QnnError(
                f"input {position}, {value.label}, must be one {dtype}, is {value.dtype} of shape "
                f"{value.shape}"
            )
        return reshaped(value.expr, ())

    def number(self, position: int) -> float:
        """Return the one float32 of a constant input."""
        tensor, data = self.tensor(position), self.constant(position)
        if tensor.dtype != "float32" or data.size != 1:
            raise QnnError(f"input {position}, {tensor.label}, must be one float32")
        return float(data.item())

    def check_constant(
        self, position: int, sizes: Sequence[float], what: str, least: int = 0
    ) -> None:
        """Raise if an input is constant and a number of it is not below a size.

        Args:
            position: of the input.
            sizes: one for all numbers, or one for each index of its last axis.
            what: says in the error which numbers may not be there.
            least: the lowest number.
        """
        tensor = self.tensor(position)
        known = tensor.array if tensor.is_constant else np.zeros(0)
        if known.size and (np.any(known < least) or np.any(known >= np.array(sizes))):
            raise QnnError(f"{tensor.label} has {what}")

    def common_dtype(self, *allowed: str) -> str:
        """Return the type that all inputs and outputs have; raise if it is none of the allowed."""
        positions = range(max(1, len(self.operator.inputs)))
        inputs = [self.tensor(position).dtype for position in positions]
        result = self.output().dtype
        if {*inputs} != {result} or result not in (allowed or (result,)):
            raise UnsupportedError(f"from {', '.join(inputs)} to {result}")
        return result

    def check_size(self, spec: TensorSpec, *, counts: bool = False) -> None:
        """Check a tensor that the operator makes, before it is made.

        Args:
            spec: of the tensor.
            counts: whether it is a result; results of constants count towards the common limit.

        Raises:
            UnsupportedError: it is larger than the model may make.
        """
        inputs = [self.model.tensors[index] for index in self.operator.inputs if index >= 0]
        fixed = self.values.fixed
        is_fixed = counts and all(each.is_constant or each.index in fixed for each in inputs)
        self.values.growth.check(spec.shape, spec.dtype)
        if is_fixed:
            self.values.growth.make(spec.shape, spec.dtype)
            fixed.update(self.operator.outputs)

    def give(self, tensor: Tensor, expr: relax.Expr) -> None:
        """Emit the value of an output.

        Raises:
            UnsupportedError: it is too large, or computed from tensors without elements.
            QnnError: it has another type than the file says.
        """
        row, call = row_of(self.operator.code), self.builder.typed(expr)
        result = spec_of(call)
        self.check_size(result, counts=True)
        dtype = "float32" if tensor.dtype == COMPLEX else tensor.dtype
        is_stated = row.states_dtype and self.model.semantics != "tflm"
        if result.dtype != dtype and not is_stated and dtype != VARIANT:
            raise QnnError(f"gives {result.dtype}, {tensor.label} is {tensor.dtype}")
        if 0 not in result.shape and not row.fills:
            self._check_elements()
        variable, owner = self.values.define(tensor, call), self.values.owner
        self.builder.results[variable.name] = self.operator.index if owner is None else owner

    def _check_elements(self) -> None:
        """Raise if a result that has elements is computed from a tensor that has none."""
        for index in self.operator.inputs:
            tensor = self.model.tensors[index]
            if index < 0 or tensor.dtype not in _COMPUTED:
                continue
            # A constant may have become several constants, or be absent from the module.
            shape = tensor.shape if tensor.is_constant else self.operand(tensor).shape
            if 0 in shape:
                raise UnsupportedError(f"{tensor.label} has no elements")

    def output(self, position: int = 0) -> Tensor:
        """Return the file's tensor at an output."""
        if position >= len(self.operator.outputs):
            raise QnnError(f"output {position} is missing")
        return self.model.tensors[self.operator.outputs[position]]


def seen_in(kind: type[Context], rule: Rule) -> Rule:
    """Return the rule, applied in another kind of context."""
    return lambda ctx: rule(kind(ctx.model, ctx.operator, ctx.builder, ctx.values))


def reshaped(expr: relax.Expr, shape: Sequence[int]) -> relax.Expr:
    """Reshape a tensor; TVM's own reshape takes a size of 0 as the former size."""
    if 0 in shape:
        return R.zeros(shape, spec_of(expr).dtype)
    return R.reshape(expr, shape)


def regrouped(
    ctx: Context, expr: relax.Expr, parts: Sequence[int], order: Sequence[int]
) -> relax.Var:
    """Split axes of a tensor, and put the parts into another order."""
    return ctx.emit(R.permute_dims(ctx.emit(reshaped(expr, parts)), order))


def per_tensor(tensor: Tensor) -> tuple[float, int]:
    """Scale and zero point of a tensor that has one of each.

    Raises:
        QnnError: it has none, or several.
    """
    quantization = tensor.quantization
    if quantization is None:
        raise QnnError(f"{tensor.label} is {tensor.dtype} without a scale and zero point")
    if quantization.is_per_channel:
        raise QnnError(f"{tensor.label} must have one scale, got {quantization.scale.size} of them")
    scale = float(quantization.scale[0])
    if not 0 < scale < inf:
        raise QnnError(f"{tensor.label} has the scale {scale}, needs a positive number")
    return scale, int(quantization.zero_point[0])


def per_channel(tensor: Tensor, axis: int) -> tuple[float | list[float], int | list[int]]:
    """Return scales and zero points of a tensor that may have one per channel along ``axis``."""
    quantization = tensor.quantization
    if quantization is None or not quantization.is_per_channel:
        return per_tensor(tensor)
    if quantization.axis != axis:
        raise QnnError(
            f"{tensor.label} must be quantized along axis {axis}, got axis {quantization.axis}"
        )
    points = quantization.zero_point.tolist()
    return quantization.scale.tolist(), points[0] if len({*points}) == 1 else points
