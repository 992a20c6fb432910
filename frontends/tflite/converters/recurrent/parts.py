"""Parts of recurrent layers: their states, weights for rows of float32, and the loop of steps."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.steps import run_steps as run_loop
from frontends.tflite.converters.context import Context, Operand, per_tensor, reshaped
from frontends.tflite.converters.layers.hybrid import dense_product
from frontends.tflite.model import Tensor
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_BYTES = ("int8", "uint8")

Step = Callable[[Context, Any, Sequence[Any]], Sequence[Any]]
"""Computes the new states from a row of sums and the old states; the first is the output. All are
an ``Expression``."""


def state_of(ctx: Context, tensor: Tensor, batch: int, size: int, dtype: str) -> relax.Expr:
    """Return a state, with a row for each item of the batch.

    Raises:
        QnnError: the tensor has another size.
    """
    if not tensor.is_variable:
        raise QnnError(f"the state {tensor.label} is no variable tensor")
    if tensor.dtype != dtype or prod(tensor.shape) != batch * size:
        raise QnnError(
            f"the state {tensor.label} is {tensor.dtype} of shape {tensor.shape}, "
            f"needs {dtype} of {batch * size} elements"
        )
    return ctx.emit(reshaped(ctx.values.of(tensor), (batch, size)))


def _turned(ctx: Context, sequence: relax.Expr) -> relax.Expr:
    """Swap steps and batch if steps come first."""
    first, second, size = spec_of(sequence).shape
    if not ctx.options.time_major:
        return sequence
    if 1 in (first, second):
        return ctx.emit(reshaped(sequence, (second, first, size)))
    return ctx.emit(R.permute_dims(sequence, [1, 0, 2]))


def _reversed(ctx: Context, sequence: relax.Expr, backward: bool) -> relax.Expr:
    if not backward or spec_of(sequence).shape[1] == 1:
        return sequence
    return ctx.emit(R.flip(sequence, 1))


def begin(ctx: Context, place: int, backward: bool) -> relax.Expr:
    """Return an input as [batch, steps, size], in the order of steps; rank 2 means one step."""
    data = ctx.input(place)
    if len(data.shape) == 2:
        return ctx.emit(reshaped(data.expr, (data.shape[0], 1, data.shape[1])))
    return _reversed(ctx, _turned(ctx, data.expr), backward)


def end(ctx: Context, result: relax.Expr, rank: int, backward: bool) -> relax.Expr:
    """Return results, [batch, steps, size], in the operator's form."""
    if rank == 2:
        batch, _, size = spec_of(result).shape
        return reshaped(result, (batch, size))
    return _turned(ctx, _reversed(ctx, result, backward))


def begin_beside(ctx: Context, place: int, backward: bool, first: relax.Expr) -> relax.Expr:
    """Return a second sequence, with as many steps as the first one.

    Raises:
        QnnError: it has another number of steps, or is not float32.
    """
    tensor = ctx.tensor(place)
    if tensor.dtype != "float32" or len(ctx.input(place).shape) != 3:
        raise QnnError(f"{tensor.label} is {tensor.dtype} of shape {tensor.shape}")
    sequence = begin(ctx, place, backward)
    if spec_of(sequence).shape[:2] != spec_of(first).shape[:2] or 0 in tensor.shape:
        raise QnnError(f"{tensor.label} of shape {tensor.shape} does not fit the data")
    return sequence


def check_constants(tensors: Sequence[Tensor], dtype: str) -> None:
    """Raise unless all operands are constants of one type."""
    for tensor in tensors:
        if tensor.dtype != dtype:
            raise UnsupportedError(f"{tensor.label} is {tensor.dtype}, needs {dtype}")
        if not tensor.is_constant:
            raise QnnError(f"{tensor.label} must be constant")


def check_shapes(needed: Iterable[tuple[Tensor | Operand, tuple[int, ...]]]) -> None:
    """Raise unless each operand has its shape."""
    for operand, shape in needed:
        if operand.shape != shape:
            raise QnnError(f"{operand.label} has shape {operand.shape}, needs {shape}")


def gates_of(sums: Any, count: int, size: int) -> list[Any]:
    """Return the parts of sums, [batch, gates · size], that belong to each of ``count`` gates."""
    return [sums[:, gate * size : (gate + 1) * size] for gate in range(count)]


def products_of_rows(ctx: Context, tensors: Sequence[Tensor], rows: Any) -> Any:
    """Multiply rows of float32, [count, size], by the joined weights of gates, [results, size].

    For weights of bytes each row is quantized separately.
    """
    name, arrays = ctx.builder.fresh("weights"), [tensor.array for tensor in tensors]
    if tensors[0].dtype not in _BYTES:
        columns = np.ascontiguousarray(np.concatenate(arrays).T)
        return rows @ ctx.builder.array(ctx.builder.add_constant(name, columns))
    scales = [
        np.full(len(array), per_tensor(tensor)[0], np.float32)
        for tensor, array in zip(tensors, arrays, strict=True)
    ]
    joined = np.concatenate([array.view(np.int8) for array in arrays])
    weights = ctx.builder.add_constant(name, joined)
    return dense_product(ctx, rows.expr, weights, joined.sum(axis=1), np.concatenate(scales))


def products_of_steps(ctx: Context, weights: Sequence[Tensor], data: relax.Expr) -> Any:
    """Multiply all steps, [batch, steps, size], by the weights of gates: [batch · steps, …]."""
    batch, steps, size = spec_of(data).shape
    rows = ctx.builder.array(reshaped(data, (batch * steps, size)))
    return products_of_rows(ctx, weights, rows)


def real_of(tensor: Tensor) -> Array:
    """Return a constant as float32; bytes are multiplied by their scale."""
    array = tensor.array
    if tensor.dtype not in _BYTES:
        return array
    return array.view(np.int8).astype(np.float32) * np.float32(per_tensor(tensor)[0])


def run_steps(
    ctx: Context, sums: Any, steps: int, states: Sequence[relax.Expr], step: Step
) -> list[relax.Expr]:
    """Return the outputs of all steps, [batch, steps, size], and the new states.

    Args:
        ctx: the operator.
        sums: products of the data, [batch · steps, columns].
        steps: their number.
        states: [batch, size] each.
        step: emits one step.
    """

    def written(
        builder: ModuleBuilder, rows: Sequence[relax.Expr], old: Sequence[relax.Expr]
    ) -> Sequence[relax.Expr]:
        row, *states = map(builder.array, (*rows, *old))
        return [each.expr for each in step(replace(ctx, builder=builder), row, states)]

    sequence = sums.reshape(spec_of(states[0]).shape[0], steps, sums.shape[1])
    return run_loop(ctx.builder, [sequence.expr], states, written)
