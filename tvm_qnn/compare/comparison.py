"""The result of a comparison: counts of each tensor's differences over several runs."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.io.text import table
from tvm_qnn.library.arrays import reals

_SHOWN = 10  # differing tensors in the printed text, at most


@dataclass(frozen=True)
class TensorComparison:
    """One tensor, as computed here and by another program, over all runs.

    Attributes:
        index: the tensor's number in a TFLite file, or its node's in an ONNX model; for an output,
            its index.
        name: the tensor's name.
        operator: the operator that computes it, for instance "CONV_2D"; for the result of a
            QuantizeLinear, the operator before that. Empty if it is unknown.
        elements: its number of elements.
        differing: how many of them differ; all, if the shapes or dtypes differ.
        worst: the largest difference, in steps of a quantized tensor, or in real values if the two
            sides have different encodings; infinite for a difference of shape or dtype, or if one
            side is not a number.
        steps: for an integer tensor, the number of elements by their difference in steps
            (negative: too small); equal elements are left out.
        run: the index of the first run in which an element differs.
        sqnr: the signal to quantization noise in decibels: the power of the other program's real
            values over that of the differences; infinite without differences. None if real values
            are unknown or not finite.
        cosine: the cosine of the angle between both sides' real values; None in the same cases.
        mismatch: both sides' shapes or dtypes in words if they differ; otherwise empty.
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
        tensors: for TFLite models, all that operators compute; for ONNX models, the quantized ones
            and the outputs; otherwise the outputs.
        reference: the name of the program that was compared with.
        runs: on how many inputs they were compared.
        outputs: the outputs of the library that is built for use, whose operators are fused;
            ``tensors`` come from a library that keeps all tensors.
    """

    tensors: tuple[TensorComparison, ...]
    reference: str = "LiteRT's reference kernels"
    runs: int = 1
    outputs: tuple[TensorComparison, ...] = ()

    @property
    def differing(self) -> tuple[TensorComparison, ...]:
        """The tensors with differences, followed by the ``outputs`` with differences."""
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


class Tally:
    """The differences of one tensor so far."""

    def __init__(
        self, index: int, operator: str, ours: TensorInfo, theirs: TensorInfo | None = None
    ) -> None:
        """Begin without a run.

        Args:
            index: as in ``TensorComparison``.
            operator: as in ``TensorComparison``.
            ours: the description of our tensor.
            theirs: that of the other tensor, if it differs. If it has our dtype and no encoding, it
                has ours.
        """
        self._index, self._operator, self._ours = index, operator, ours
        if theirs is None or (theirs.dtype == ours.dtype and theirs.scale is None):
            theirs = ours
        self._theirs = theirs
        encodings = {(info.dtype, info.scale, info.zero_point) for info in (ours, theirs)}
        self._is_alike = len(encodings) == 1
        self._has_reals = all(_has_reals(info) for info in (ours, theirs))
        self._elements = self._differing = 0
        self.runs = 0
        self._worst = 0.0
        self._steps: Counter[int] = Counter()
        self._first: int | None = None
        self._mismatch = ""
        self._noise = self._signal = self._own = self._product = 0.0

    def add(self, ours: np.ndarray, theirs: np.ndarray, run: int) -> None:
        """Count the differences of a run."""
        self.runs += 1
        self._elements += theirs.size
        alike = ours.dtype == theirs.dtype if self._is_alike else self._has_reals
        if ours.shape != theirs.shape or not alike:
            self._differ(theirs.size, math.inf, run)
            self._has_reals = False
            kind = "shape" if ours.shape != theirs.shape else "dtype"
            here, there = (getattr(each, kind) for each in (ours, theirs))
            self._mismatch = self._mismatch or f"{kind} {here} here, {there} there"
            return
        if not self._is_alike:
            ours, theirs = self._in_reals(ours, theirs)
        both_nan = (ours != ours) & (theirs != theirs)
        unequal = (ours != theirs) & ~both_nan
        # float64 holds every difference of these dtypes; NaN is infinitely far from a number.
        with np.errstate(invalid="ignore"):
            gap = ours[unequal].astype(np.float64) - theirs[unequal].astype(np.float64)
        if gap.size:
            far = np.abs(gap)
            self._differ(gap.size, float(np.max(np.where(np.isnan(far), np.inf, far))), run)
            if theirs.dtype.kind in "iu":
                values, counts = np.unique(gap.astype(np.int64), return_counts=True)
                self._steps.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        if self._has_reals:
            if self._is_alike:
                ours, theirs = self._in_reals(ours, theirs)
            self._sum(ours.ravel(), theirs.ravel())

    def result(self) -> TensorComparison:
        """Return the counts."""
        sqnr = cosine = None
        sums = (self._noise, self._signal, self._own, self._product)
        if self._has_reals and all(map(math.isfinite, sums)):
            lengths = math.sqrt(self._signal) * math.sqrt(self._own)
            sqnr = _decibels(self._signal, self._noise)
            cosine = min(1.0, self._product / lengths) if lengths else None
            cosine = cosine if self._noise else 1.0
        name, operator = self._ours.name, self._operator
        counts = (self._elements, self._differing, self._worst, dict(self._steps), self._first)
        return TensorComparison(self._index, name, operator, *counts, sqnr, cosine, self._mismatch)

    def _differ(self, elements: int, worst: float, run: int) -> None:
        self._differing += elements
        self._worst = max(self._worst, worst)
        self._first = run if self._first is None else self._first

    def _in_reals(self, ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = (reals(self._ours, ours), reals(self._theirs, theirs))
        first, second = (each.astype(np.float64) for each in both)
        return first, second

    def _sum(self, ours: np.ndarray, theirs: np.ndarray) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            gap = ours - theirs
            self._noise += float(gap @ gap)
            self._signal += float(theirs @ theirs)
            self._own += float(ours @ ours)
            self._product += float(ours @ theirs)


def _has_reals(info: TensorInfo) -> bool:
    return info.scale is not None or np.dtype(info.dtype).kind == "f"


def _decibels(signal: float, noise: float) -> float | None:
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf
