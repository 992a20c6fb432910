"""The operands of an LSTM: their presence and their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from frontends.tflite.converters.context import Context
from frontends.tflite.converters.recurrent.parts import check_shapes
from frontends.tflite.model import Tensor
from qnn_ops.errors import QnnError
from qnn_ops.quantized.lstm import GATES

_SEEING = ("input", "forget", "output")


@dataclass(frozen=True)
class Places:
    """The indices of a layer's operands: the first of each kind, in the gates' order.

    Attributes:
        data: the data.
        weights: of the data; in a plain recurrent layer the weights of hidden values, the bias and
            the state follow, and it has no others.
        recurrent: weights of the hidden values.
        peepholes: weights of the cells.
        biases: of the gates.
        projection: weights, and after them the bias.
        hidden: the state of hidden values, and after it the state of cells.
        norm: weights of the normalization; None if the operator has none.
        counts: the allowed numbers of operands.
        beside: a second sequence and its weights; None if there is none.
        backward: whether the last step is the first.
    """

    data: int
    weights: int
    recurrent: int = 0
    peepholes: int = 0
    biases: int = 0
    projection: int = 0
    hidden: int = 0
    norm: int | None = None
    counts: tuple[int, ...] = ()
    beside: tuple[int, int] | None = None
    backward: bool = False


ALONE = Places(0, 1, 5, 9, 12, 16, 18, 20, counts=(20, 24))
"""The operands' indices of a unidirectional LSTM."""


@dataclass(frozen=True)
class LstmOperands:
    """The tensors of an LSTM; lists are by gate.

    Attributes:
        gates: the existing gates.
        weights: of the data, [cells, size].
        recurrent: weights of the hidden values, [cells, outputs].
        peepholes: of all gates except the cell's, [cells]; none without them.
        biases: [cells].
        norm: weights of the normalization, [cells]; none without it.
        projection: weights, [outputs, cells], and maybe a bias, [outputs]; none without it.
        hidden: the state of hidden values.
        cells: the state of cells.
        count: the number of cells.
        outputs: the number of a step's outputs.
        beside: weights of a second sequence; none without one.
    """

    gates: tuple[str, ...]
    weights: list[Tensor]
    recurrent: list[Tensor]
    peepholes: list[Tensor]
    biases: list[Tensor]
    norm: list[Tensor]
    projection: list[Tensor]
    hidden: Tensor
    cells: Tensor
    count: int
    outputs: int
    beside: list[Tensor] = field(default_factory=list)

    @classmethod
    def of(cls, ctx: Context, at: Places = ALONE) -> LstmOperands:
        """Return an operator's operands.

        Raises:
            QnnError: an operand is missing, or does not fit the others.
        """
        if len(ctx.operator.inputs) not in at.counts:
            needed = " or ".join(map(str, at.counts))
            raise QnnError(f"needs {needed} inputs, got {len(ctx.operator.inputs)}")
        gates = GATES if ctx.has(at.weights) else GATES[1:]
        indices = [GATES.index(gate) for gate in gates]

        def by_gate(first: int) -> list[Tensor]:
            return [ctx.tensor(first + index) for index in indices]

        _check_left_out(ctx, gates, at)
        seeing = [_SEEING.index(gate) for gate in gates if gate in _SEEING]
        has_peepholes = any(ctx.has(at.peepholes + index) for index in range(len(_SEEING)))
        peepholes = [ctx.tensor(at.peepholes + index) for index in seeing] if has_peepholes else []
        projection = [ctx.tensor(at.projection)] if ctx.has(at.projection) else []
        if ctx.has(at.projection + 1):
            projection = [ctx.tensor(at.projection), ctx.tensor(at.projection + 1)]
        weights, recurrent = by_gate(at.weights), by_gate(at.recurrent)
        has_norm = at.norm is not None and ctx.has(at.norm + GATES.index("forget"))
        norm = by_gate(at.norm or 0) if has_norm else []
        rank = 2 if ctx.operator.code == "LSTM" else 3
        size = ctx.input(at.data, rank).shape[-1]
        count, outputs = _sizes(weights[-1])[0], _sizes(recurrent[-1])[1]
        found = cls(
            gates,
            weights,
            recurrent,
            peepholes,
            by_gate(at.biases),
            norm,
            projection,
            ctx.tensor(at.hidden),
            ctx.tensor(at.hidden + 1),
            count,
            outputs,
            [] if at.beside is None else by_gate(at.beside[1]),
        )
        beside = 0 if at.beside is None else ctx.input(at.beside[0], rank).shape[-1]
        found._check(size, beside)
        return found

    def _check(self, size: int, size_beside: int) -> None:
        cells = (self.count,)
        needed: list[tuple[Sequence[Tensor], tuple[int, ...]]] = [
            (self.weights, (self.count, size)),
            (self.beside, (self.count, size_beside)),
            (self.recurrent, (self.count, self.outputs)),
            (self.peepholes, cells),
            (self.biases, cells),
            (self.norm, cells),
            (self.projection[:1], (self.outputs, self.count)),
            (self.projection[1:], (self.outputs,)),
        ]
        check_shapes((tensor, shape) for tensors, shape in needed for tensor in tensors)
        if not self.projection and self.outputs != self.count:
            raise QnnError(
                f"has {self.count} cells and {self.outputs} outputs, but no projection weights"
            )


def _check_left_out(ctx: Context, gates: Sequence[str], at: Places) -> None:
    """Raise if an LSTM without an input gate has parts of one."""
    if "input" in gates:
        return
    beside = None if at.beside is None else at.beside[1]
    for first, what in (
        *((at.recurrent, "weights"), (at.biases, "a bias"), (at.norm, "a norm")),
        (beside, "weights"),
    ):
        if first is not None and ctx.has(first):
            raise QnnError(f"input {first} is {what} of the input gate, which has no others")


def _sizes(matrix: Tensor) -> tuple[int, ...]:
    if len(matrix.shape) != 2:
        raise QnnError(f"{matrix.label} must have 2 dimensions, got {matrix.shape}")
    return matrix.shape
