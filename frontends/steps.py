"""Layers over time, whose steps are iterations of a loop; sequences in reverse."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.errors import QnnError

_MOST = 1 << 26  # elements of a loop's outputs
_MOST_WRITTEN_OUT = 128

Step = Callable[[ModuleBuilder, Sequence[relax.Expr], Sequence[relax.Expr]], Sequence[relax.Expr]]
"""Computes the new states from rows of data and the old states; the first is the output."""


def reversed_steps(
    builder: ModuleBuilder, data: relax.Expr, lengths: Any, along: int, batch: int
) -> relax.Expr:
    """Reverse the first steps of each sequence; the steps behind them stay.

    Args:
        builder: emits the operators.
        data: the sequences.
        lengths: how many steps of each sequence are reversed: an expression, int32 [sequences].
        along: the axis of the data's steps.
        batch: the axis of the sequences.
    """
    shape, emit = spec_of(data).shape, builder.emit
    if 0 in shape:
        return data
    if is_open((shape[batch],)):
        axes = range(len(shape))
        # TVM mixes int32 indices with open sizes, which are int64.
        steps = np.arange(shape[along], dtype=np.int64)
        step = steps.reshape([-1 if axis == along else 1 for axis in axes])
        ends = lengths.reshape(*(shape[axis] if axis == batch else 1 for axis in axes))
        indices: Any = np.where(ends > step, ends - 1 - step, step)
        indices = np.broadcast_to(indices, shape)
        return emit(R.gather_elements(data, indices.expr, axis=along))
    # Steps and sequences become one axis, which is gathered: this copies whole rows.
    rest = [axis for axis in range(len(shape)) if axis not in (along, batch)]
    order = [*sorted((along, batch)), *rest]
    moved = data if order == sorted(order) else emit(R.permute_dims(data, order))
    sizes, stride = [shape[axis] for axis in order], shape[batch] if along < batch else 1
    rows = emit(R.reshape(moved, (prod(sizes[:2]), prod(sizes[2:]))))
    index: Any = np.arange(prod(sizes[:2]), dtype=np.int32).reshape(sizes[:2])
    step = index // stride % shape[along]
    ends = lengths.reshape(*(shape[axis] if axis == batch else 1 for axis in order[:2]))
    index = np.where(ends > step, (ends - (2 * step + 1)) * stride + index, index)
    taken = emit(R.take(rows, index.reshape(prod(sizes[:2])).expr, 0, "clip"))
    whole = emit(R.reshape(taken, sizes))
    back = [order.index(axis) for axis in range(len(shape))]
    return whole if moved is data else R.permute_dims(whole, back)


def run_steps(
    builder: ModuleBuilder,
    sequences: Sequence[relax.Expr],
    states: Sequence[relax.Expr],
    step: Step,
    attributes: Mapping[str, str] | None = None,
) -> list[relax.Expr]:
    """Return the outputs of all steps, [batch, steps, size], and the new states.

    Several steps become a loop. If the batch is open, they follow one another without a loop.

    Args:
        builder: emits the layer.
        sequences: the data, [batch, steps, columns] each.
        states: [batch, size] each, the first float32.
        step: emits one step.
        attributes: of the loop's function.

    Raises:
        QnnError: there are too many steps, or more than 128 with an open batch.
    """
    batch, steps, _ = spec_of(sequences[0]).shape
    size = spec_of(states[0]).shape[1]
    if is_open((batch, steps)):
        return _written_out(builder, sequences, states, step)
    if steps == 1:
        first = [builder.emit(_row_of(each)) for each in sequences]
        new = step(builder, first, states)
        return [builder.emit(R.reshape(new[0], (batch, 1, size))), *new]
    if batch * steps * size > _MOST:
        raise QnnError(f"{batch} sequences of {steps} steps of {size} numbers are too many")
    zeros = builder.emit(relax.const(np.zeros((batch, steps, size), np.float32)))
    begin = [relax.const(np.zeros(1, np.int32)), *sequences, *states, zeros]
    body = _body(builder, begin, len(sequences), step)
    for key, value in (attributes or {}).items():
        body = body.with_attr(key, value)
    results = builder.loop(_condition(builder, begin, len(sequences), steps), body, begin)
    return [results[-1], *results[1 + len(sequences) : -1]]


def _written_out(
    builder: ModuleBuilder,
    sequences: Sequence[relax.Expr],
    states: Sequence[relax.Expr],
    step: Step,
) -> list[relax.Expr]:
    """Return the same results from steps without a loop, which take any batch."""
    steps = spec_of(sequences[0]).shape[1]
    if is_open((steps,)) or steps > _MOST_WRITTEN_OUT:
        raise QnnError(
            "a recurrent layer needs a number of steps, of an open batch up to "
            f"{_MOST_WRITTEN_OUT}, got {steps}"
        )
    emit, outputs = builder.emit, []
    for index in range(steps):
        rows = [emit(R.strided_slice(each, [1], [index], [index + 1])) for each in sequences]
        states = step(builder, [emit(_row_of(row)) for row in rows], states)
        outputs.append(emit(R.expand_dims(states[0], 1)))
    return [outputs[0] if steps == 1 else emit(R.concat(outputs, 1)), *states]


def _row_of(sequence: relax.Expr) -> relax.Expr:
    """Return the data of the only step of a sequence."""
    batch, _, columns = spec_of(sequence).shape
    return R.reshape(sequence, (batch, columns))


def _condition(
    outer: ModuleBuilder, begin: Sequence[relax.Expr], sequences: int, steps: int
) -> relax.Function:
    """Return the function that tells whether steps are left."""
    builder = ModuleBuilder(outer)
    iteration, *_ = _parameters(builder, begin, sequences)
    return builder.function(
        lambda: [builder.emit(R.less(iteration, relax.const(np.array([steps], np.int32))))]
    )


def _parameters(
    builder: ModuleBuilder, begin: Sequence[relax.Expr], sequences: int
) -> list[relax.Var]:
    specs = [spec_of(each) for each in begin]
    states = len(begin) - sequences - 2
    names = ["iteration", *["sums"] * sequences, *(f"state{i}" for i in range(states)), "outputs"]
    return [
        builder.add_input(builder.fresh(name), spec.shape, spec.dtype)
        for name, spec in zip(names, specs, strict=True)
    ]


def _body(
    outer: ModuleBuilder, begin: Sequence[relax.Expr], count: int, step: Step
) -> relax.Function:
    """Return the function of an iteration, which writes its outputs into those of all steps."""
    inner = ModuleBuilder(outer)
    emit = inner.emit
    iteration, *others, outputs = _parameters(inner, begin, count)
    sequences, states = others[:count], others[count:]
    batch, steps, size = spec_of(outputs).shape

    def convert() -> list[relax.Expr]:
        rows = [emit(_row_of(emit(R.take(each, iteration, 1, "clip")))) for each in sequences]
        new = step(inner, rows, states)
        indices = relax.const(np.arange(steps, dtype=np.int32).reshape(steps, 1))
        row = emit(R.reshape(new[0], (batch, 1, size)))
        made = emit(R.where(emit(R.equal(indices, iteration)), row, outputs))
        following = emit(R.add(iteration, relax.const(np.ones(1, np.int32))))
        return [following, *sequences, *new, made]

    return inner.function(convert)
