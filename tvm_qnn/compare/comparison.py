"""What a comparison finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tvm_qnn.io.text import table

_SHOWN = 10  # of the tensors that differ


@dataclass(frozen=True)
class TensorComparison:
    """One tensor, as computed here and by another program, over all runs.

    Attributes:
        index: the tensor's number in a TFLite file; of an ONNX model, its node's; of an output,
            its place.
        name: the tensor's name.
        operator: the operator that computes it, for instance "CONV_2D"; of what QuantizeLinear
            gives, the one before it. Empty where it is not known.
        elements: how many elements it has.
        differing: how many of them differ; all of them if the shapes or dtypes do.
        worst: the largest difference, in steps of a quantized tensor, or of real values where the
            two are not quantized alike; infinite for a difference of shape or dtype, or if one
            side is not a number.
        steps: of an integer tensor: how many elements are so many steps too large (negative:
            too small), by that number; without those that are equal.
        run: the number of the first run, from 0, in which an element differs.
        sqnr: in decibels, the power of the other program's real values over that of the
            differences (signal to quantization noise); infinite if there are none. None where
            real values are not known, or not finite.
        cosine: of the angle between both sides' real values; None likewise.
        mismatch: both sides' shapes or dtypes in words, where they differ; else nothing.
    """

    index: int
    name: str
    operator: str
    elements: int
    differing: int
    worst: float
    steps: Mapping[int, int] = field(default_factory=dict)
    run: int | None = None
    sqnr: float | None = None
    cosine: float | None = None
    mismatch: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether every element is equal."""
        return not (self.differing or self.mismatch)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Every tensor that was compared, in the order of the operators.

    Attributes:
        tensors: of TFLite models, all that operators compute; of ONNX models what is quantized,
            and the outputs; otherwise the outputs.
        reference: what was compared with, as people call it.
        runs: how many inputs it was compared on.
        outputs: those of the library that is built for use, whose operators are fused, where
            ``tensors`` are those of one that keeps them all.
    """

    tensors: tuple[TensorComparison, ...]
    reference: str = "LiteRT's reference kernels"
    runs: int = 1
    outputs: tuple[TensorComparison, ...] = ()

    @property
    def differing(self) -> tuple[TensorComparison, ...]:
        """The tensors that are not equal, element by element; behind them outputs of the other."""
        return _differing(self.tensors) + _differing(self.outputs)

    @property
    def is_equal(self) -> bool:
        """Whether every element of every tensor is equal."""
        return not self.differing

    @property
    def elements(self) -> int:
        """The number of elements of ``tensors``."""
        return sum(tensor.elements for tensor in self.tensors)

    def __repr__(self) -> str:
        equal = len(self.tensors) - len(_differing(self.tensors))
        said = f"{equal} of {len(self.tensors)} tensors equal those of {self.reference}"
        if self.outputs:
            equal = len(self.outputs) - len(_differing(self.outputs))
            said += f", {equal} of {len(self.outputs)} outputs when built for use"
        if self.runs > 1:
            said += f" in {self.runs} runs"
        lines = [f"Comparison: {said}", *map(str, self.differing[:_SHOWN])]
        more = len(self.differing) - _SHOWN
        return "\n  ".join([*lines, *([f"and {more} more"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        title, *_ = repr(self).splitlines()
        heads = ("differing tensor", "operator", "elements", "differing", "worst")
        rows = [(t.name, t.operator, t.elements, t.differing, t.worst) for t in self.differing]
        return table(title, heads, rows)


def _differing(tensors: tuple[TensorComparison, ...]) -> tuple[TensorComparison, ...]:
    return tuple(tensor for tensor in tensors if not tensor.is_equal)
