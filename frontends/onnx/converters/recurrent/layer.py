"""The common part of LSTM, GRU and RNN: operands, directions, sequence lengths, and the loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.onnx.converters.products import ByteWeights, FloatWeights
from frontends.onnx.converters.registry import Array, Call
from frontends.steps import reversed_steps, run_steps
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.dialect.registry import constant_of, spec_of
from qnn_ops.dialect.signature import ARITHMETIC
from qnn_ops.dialect.sizes import as_extent, is_open, least

Weights = FloatWeights | ByteWeights

_BACKWARD = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""By direction, for each of its layers, whether the layer begins with the last step."""
_MOST = 1 << 24


@dataclass(frozen=True)
class Parameters:
    """The parameters of one direction.

    Attributes:
        index: of the direction.
        data: weights of the data.
        hidden: weights of hidden values.
        biases: of the data and of hidden values, [gates · units] each; None if there are none.
        peepholes: [3 · units]; None if there are none.
    """

    index: int
    data: Weights
    hidden: Weights
    biases: tuple[Array, Array] | None
    peepholes: Array | None


Step = Callable[[ModuleBuilder, Any, list[Any], Parameters], list[Any]]
"""``step(builder, sums, states, parameters)`` computes with expressions. It returns the new states
of one direction, the hidden values first."""


@dataclass(frozen=True)
class Kind:
    """The differences between the three operators.

    Attributes:
        gates: number of gates.
        states: number of states: hidden values, and cells.
        ends_at_zero: whether the last states of a sequence without steps are 0, and not its first
            states.
        adds_bias: whether the biases are added to the products of the data, before those of the
            hidden values.
    """

    gates: int
    states: int = 1
    ends_at_zero: bool = True
    adds_bias: bool = False


class Layer:
    """An operator whose operands were checked."""

    def __init__(self, call: Call, kind: Kind) -> None:
        """Read operands and attributes.

        Raises:
            UnsupportedError: an operand or attribute is not imported, or ONNX Runtime refuses it.
        """
        self.call, self.kind = call, kind
        self.builder = ModuleBuilder(block=call.builder)
        self.emit = self.builder.emit
        # The operands of an LSTM, and their encodings.
        (x, w, r, b, self.lengths, *states, p, sw, zw, sr, zr) = call.operands(12)
        direction = call.text("direction", "forward")
        if direction not in _BACKWARD:
            raise UnsupportedError(f"direction is {direction!r}")
        self.backward = _BACKWARD[direction]
        if call.integer("layout"):
            raise UnsupportedError("layout is 1, which ONNX Runtime refuses, too")
        self.units = call.integer("hidden_size")
        if self.units < 1:
            raise UnsupportedError("hidden_size must be stated, and positive")
        self.is_given = bool(call.outputs[0])
        spec = spec_of(x)
        if len(spec.shape) != 3 or spec.dtype != "float32" or 0 in spec.shape:
            raise UnsupportedError(f"X is {spec.dtype} of shape {list(spec.shape)}")
        self.steps, self.batch, self.size = spec.shape
        if least(self.steps * self.batch * self.units) > _MOST:
            raise UnsupportedError(f"its results have more than {_MOST:,} values")
        self.data = x
        self.states = [
            self._state(*pair) for pair in zip("hc"[: kind.states], states, strict=False)
        ]
        self.fixed_lengths = self._fixed_lengths()
        count, columns = len(self.backward), kind.gates * self.units
        data = self._weights("W", w, self.size, sw, zw)
        hidden = self._weights("R", r, self.units, sr, zr)
        biases = None if b is None else self._constant("B", b, (count, 2 * columns))
        peepholes = None if p is None else self._constant("P", p, (count, 3 * self.units))
        self.parameters = [
            Parameters(
                i,
                data[i],
                hidden[i],
                None if biases is None else (biases[i, :columns], biases[i, columns:]),
                None if peepholes is None else peepholes[i],
            )
            for i in range(count)
        ]

    def convert(self, step: Step) -> relax.Tuple:
        """Return the outputs of all steps and the last states, of both directions."""
        masked = self._masked(self.data)
        rows = self.emit(R.reshape(masked, (self.steps * self.batch, self.size)))
        parts = [self._direction(parameters, rows, step) for parameters in self.parameters]
        pairs = zip(zip(*parts, strict=True), (1, 0, 0), strict=False)
        return relax.Tuple([self._joined(each, axis) for each, axis in pairs])

    def _joined(self, parts: Sequence[relax.Expr], axis: int) -> relax.Expr:
        wide = [self.emit(R.expand_dims(part, axis)) for part in parts]
        return wide[0] if len(wide) == 1 else self.emit(R.concat(wide, axis))

    def _direction(self, parameters: Parameters, rows: relax.Expr, step: Step) -> list[relax.Expr]:
        """Return outputs, [steps, batch, units], and last states, [batch, units]."""
        emit, index = self.emit, parameters.index
        products = parameters.data.product(self.builder, self.builder.array(rows))
        if self.kind.adds_bias and parameters.biases is not None:
            products = products + np.add(*parameters.biases)
        products = products.reshape(self.steps, self.batch, self.kind.gates * self.units)
        sums = self._turned(products.expr, index)
        sequences = [self._exchanged(sums)]
        begin = [emit(self._of(state, index)) for state in self.states]
        idle = self._is_going()
        if idle is not None:
            sequences.append(self._exchanged(idle))
            begin.append(begin[0])

        def written(
            builder: ModuleBuilder, read: Sequence[relax.Expr], old: Sequence[relax.Expr]
        ) -> Sequence[relax.Expr]:
            sums, *states = map(builder.array, (read[0], *old[: len(self.states)]))
            new = [each.expr for each in step(builder, sums, states, parameters)]
            if idle is None:
                return new
            return self._kept(builder, read[1], old, new)

        made, *new = run_steps(self.builder, sequences, begin, written, {ARITHMETIC: ONNXRUNTIME})
        last = new[: len(self.states)]
        if idle is not None:
            last[0] = new[-1]
            last = [self._ended(state) for state in last]
        return [self._turned(self._exchanged(made), index), *last]

    def _kept(
        self,
        builder: ModuleBuilder,
        going: relax.Expr,
        old: Sequence[relax.Expr],
        new: Sequence[relax.Expr],
    ) -> list[relax.Expr]:
        """Return the states of a step beyond the end of some sequences.

        If outputs are wanted, ONNX Runtime keeps hidden values in the outputs, which are 0 beyond a
        sequence's end. This matters if the hidden values of a batch are quantized with one range.
        """
        hidden = self._zeros(builder.emit) if self.is_given else old[0]
        pairs = [(new[0], hidden), *zip(new[1:], old[1:], strict=False), (new[0], old[-1])]
        return [builder.emit(R.where(going, each, before)) for each, before in pairs]

    def _zeros(self, emit: Callable[[relax.Expr], relax.Var]) -> relax.Expr:
        shape = self.batch, self.units
        if is_open(shape):
            return emit(R.zeros(relax.ShapeExpr(list(map(as_extent, shape))), "float32"))
        return relax.const(np.zeros(shape, np.float32))

    def _of(self, state: relax.Expr | None, index: int) -> relax.Expr:
        """Return the first state of one direction."""
        if state is None:
            return self._zeros(self.emit)
        own = self.emit(R.strided_slice(state, [0], [index], [index + 1]))
        return R.reshape(own, (self.batch, self.units))

    def _exchanged(self, sequence: relax.Expr) -> relax.Expr:
        """Swap the first two axes."""
        first, second, size = spec_of(sequence).shape
        if 1 in (first, second):
            return self.emit(R.reshape(sequence, (second, first, size)))
        return self.emit(R.permute_dims(sequence, [1, 0, 2]))

    def _turned(self, sequence: relax.Expr, index: int) -> relax.Expr:
        """Return a sequence, [steps, batch, …], reversed if the direction is backward."""
        if not self.backward[index] or self.steps == 1:
            return sequence
        if self.lengths is None:
            return self.emit(R.flip(sequence, 0))
        return reversed_steps(self.builder, sequence, self._wide_lengths(), 0, 1)

    @property
    def _step_numbers(self) -> Array:
        return np.arange(self.steps, dtype=np.int32).reshape(-1, 1)

    def _wide_lengths(self) -> Any:
        """Return the lengths of sequences, [1, batch], at most the number of steps."""
        if self.fixed_lengths is not None:
            return self.builder.array(relax.const(self.fixed_lengths.reshape(1, -1)))
        lengths = self.builder.array(self.lengths)
        return np.maximum(np.minimum(lengths, self.steps), 0).reshape(1, self.batch)

    def _is_going(self) -> relax.Expr | None:
        """Return whether each step lies within each sequence: [steps, batch, 1]; None if all do."""
        if self.lengths is None:
            return None
        going = self._wide_lengths() > self._step_numbers
        return going.reshape(self.steps, self.batch, 1).expr

    def _ended(self, state: relax.Expr) -> relax.Expr:
        """Return a last state, which may be 0 for sequences without steps."""
        if not self.kind.ends_at_zero:
            return state
        any_step = self._wide_lengths().reshape(self.batch, 1) > 0
        kept: Any = np.where(any_step, self.builder.array(state), 0)
        return kept.expr

    def _masked(self, data: relax.Expr) -> relax.Expr:
        """Return the data with zeros beyond the longest sequence.

        ONNX Runtime does not read these elements, so they must not widen the range that quantizes
        the data.
        """
        if self.lengths is None:
            return data
        lengths = self._wide_lengths()
        longest = lengths.to(R.max(lengths.expr))
        is_read = longest > self._step_numbers[..., None]
        masked: Any = np.where(is_read, self.builder.array(data), 0)
        return masked.expr

    def _fixed_lengths(self) -> Array | None:
        """Return the lengths of sequences, if they are known."""
        if self.lengths is None:
            return None
        spec = spec_of(self.lengths)
        if spec.dtype != "int32" or spec.shape != (self.batch,):
            raise UnsupportedError(f"sequence_lens is {spec.dtype} of shape {list(spec.shape)}")
        fixed = constant_of(self.lengths)
        if fixed is not None and not ((fixed >= 0) & (fixed <= self.steps)).all():
            raise UnsupportedError(f"sequence_lens has {fixed.max()} of {self.steps} steps")
        return fixed

    def _state(self, name: str, state: relax.Expr | None) -> relax.Expr | None:
        wanted = (len(self.backward), self.batch, self.units)
        if state is not None and spec_of(state).shape != wanted:
            raise UnsupportedError(
                f"initial_{name} has shape {list(spec_of(state).shape)}, needs {list(wanted)}"
            )
        return state

    def _constant(self, name: str, operand: relax.Expr, shape: tuple[int, ...]) -> Array:
        """Return the value of a constant, or of a dequantized constant."""
        value = self.call.known(operand)
        if value is None:
            raise UnsupportedError(f"{name} must be a constant")
        if value.shape != shape:
            raise UnsupportedError(f"{name} has shape {list(value.shape)}, needs {list(shape)}")
        return value

    def _weights(
        self, name: str, operand: relax.Expr, depth: int, scale: Any, point: Any
    ) -> list[Weights]:
        """Return the weights of each direction."""
        count, columns = len(self.backward), self.kind.gates * self.units
        if scale is None:
            array = self._constant(name, operand, (count, columns, depth))
            return [FloatWeights(each) for each in array]
        array = self._constant(name, operand, (count, depth, columns))
        steps, points = (constant_of(each) for each in (scale, point))
        if steps is None or points is None:
            raise UnsupportedError(f"the scales and zero points of {name} must be constants")
        if steps.shape != points.shape or steps.shape not in ((count,), (count, columns)):
            raise UnsupportedError(
                f"{name} has scales of shape {list(steps.shape)} and zero points of shape "
                f"{list(points.shape)}, needs {[count]} or {[count, columns]}"
            )
        points = points.reshape(count, -1)
        if (points != points[:, :1]).any():
            raise UnsupportedError(f"{name} has zero points that differ")
        return [
            ByteWeights(array[i], steps.reshape(count, -1)[i], points[i, :1].astype(np.int64))
            for i in range(count)
        ]
