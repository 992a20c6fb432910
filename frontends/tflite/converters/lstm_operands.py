"""The operands of an LSTM: which there are, and of which shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frontends.tflite.converters.context import Context
from frontends.tflite.model import Tensor
from qnn_ops.errors import QnnError
from qnn_ops.quantized_lstm import GATES

# Where the operator has them: weights and biases for the gates in their order.
_WEIGHTS, _RECURRENT, _PEEPHOLES, _BIASES = 1, 5, 9, 12
_PROJECTION, _PROJECTION_BIAS, _HIDDEN, _CELLS, _NORM = 16, 17, 18, 19, 20
_COUNTS = (_NORM, _NORM + len(GATES))
_SEEING = ("input", "forget", "output")


@dataclass(frozen=True)
class LstmOperands:
    """The tensors of an LSTM; lists are by gate.

    Attributes:
        gates: which there are.
        weights: of the data, [cells, size].
        recurrent: weights of the hidden values, [cells, outputs].
        peepholes: of all gates but the cell's, [cells]; none without them.
        biases: [cells].
        norm: weights of the normalization, [cells]; none without it.
        projection: weights, [outputs, cells], and maybe a bias, [outputs]; none without it.
        hidden: the state of hidden values.
        cells: the state of cells.
        count: how many cells there are.
        outputs: how many values a step gives.
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

    @classmethod
    def of(cls, ctx: Context) -> LstmOperands:
        """Take an operator's.

        Raises:
            QnnError: one is missing, or does not fit the others.
        """
        if len(ctx.operator.inputs) not in _COUNTS:
            raise QnnError(f"needs 20 or 24 inputs, got {len(ctx.operator.inputs)}")
        gates = GATES if ctx.has(_WEIGHTS) else GATES[1:]
        places = [GATES.index(gate) for gate in gates]

        def by_gate(first: int) -> list[Tensor]:
            return [ctx.tensor(first + place) for place in places]

        _check_left_out(ctx, gates)
        seeing = [_SEEING.index(gate) for gate in gates if gate in _SEEING]
        has_peepholes = any(ctx.has(_PEEPHOLES + place) for place in range(len(_SEEING)))
        peepholes = [ctx.tensor(_PEEPHOLES + place) for place in seeing] if has_peepholes else []
        projection = [ctx.tensor(_PROJECTION)] if ctx.has(_PROJECTION) else []
        if ctx.has(_PROJECTION_BIAS):
            projection = [ctx.tensor(_PROJECTION), ctx.tensor(_PROJECTION_BIAS)]
        weights, recurrent = by_gate(_WEIGHTS), by_gate(_RECURRENT)
        norm = by_gate(_NORM) if ctx.has(_NORM + GATES.index("forget")) else []
        rank = 2 if ctx.operator.code == "LSTM" else 3
        size = _sizes(ctx.input(0).shape, rank, ctx.tensor(0))[-1]
        count = _sizes(weights[-1].shape, 2, weights[-1])[0]
        outputs = _sizes(recurrent[-1].shape, 2, recurrent[-1])[1]
        found = cls(
            gates,
            weights,
            recurrent,
            peepholes,
            by_gate(_BIASES),
            norm,
            projection,
            ctx.tensor(_HIDDEN),
            ctx.tensor(_CELLS),
            count,
            outputs,
        )
        found._check(size)
        return found

    def _check(self, size: int) -> None:
        cells = (self.count,)
        needed: list[tuple[Sequence[Tensor], tuple[int, ...]]] = [
            (self.weights, (self.count, size)),
            (self.recurrent, (self.count, self.outputs)),
            (self.peepholes, cells),
            (self.biases, cells),
            (self.norm, cells),
            (self.projection[:1], (self.outputs, self.count)),
            (self.projection[1:], (self.outputs,)),
        ]
        for tensors, shape in needed:
            for tensor in tensors:
                if tensor.shape != shape:
                    raise QnnError(f"{tensor.label} has shape {tensor.shape}, needs {shape}")
        if not self.projection and self.outputs != self.count:
            raise QnnError(
                f"has {self.count} cells and {self.outputs} outputs, but no projection weights"
            )


def _check_left_out(ctx: Context, gates: Sequence[str]) -> None:
    """Raise if an LSTM without an input gate has parts of one."""
    if "input" in gates:
        return
    for first, what in ((_RECURRENT, "weights"), (_BIASES, "a bias"), (_NORM, "a norm")):
        if ctx.has(first):
            raise QnnError(f"input {first} is {what} of the input gate, which has no others")


def _sizes(shape: tuple[int, ...], rank: int, tensor: Tensor) -> tuple[int, ...]:
    if len(shape) != rank:
        raise QnnError(f"{tensor.label} must have {rank} dimensions, has shape {shape}")
    return shape
