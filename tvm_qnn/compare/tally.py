"""The differences of one tensor, counted over several runs."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from qnn_ops.tensor_info import TensorInfo
from tvm_qnn.compare.comparison import TensorComparison
from tvm_qnn.library.arrays import reals

Array = np.ndarray[Any, Any]


class Tally:
    """The differences of one tensor so far."""

    def __init__(
        self, index: int, operator: str, ours: TensorInfo, theirs: TensorInfo | None = None
    ) -> None:
        """Begin without a run.

        Args:
            index: as ``TensorComparison`` has it.
            operator: likewise.
            ours: what is known of our side.
            theirs: and of the other one, if it is not the same. One of our dtype that is not said
                to be quantized is quantized as ours.
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

    def add(self, ours: Array, theirs: Array, run: int) -> None:
        """Count what a run gave."""
        self.runs += 1
        self._elements += theirs.size
        alike = ours.dtype == theirs.dtype if self._is_alike else self._has_reals
        if ours.shape != theirs.shape or not alike:
            self._differ(theirs.size, math.inf, run)
            self._has_reals = False
            kind, *both = "shape", ours.shape, theirs.shape
            if ours.shape == theirs.shape:
                kind, *both = "dtype", ours.dtype, theirs.dtype
            self._mismatch = self._mismatch or f"{kind} {both[0]} here, {both[1]} there"
            return
        if not self._is_alike:
            ours, theirs = self._in_reals(ours, theirs)
        both_nan = (ours != ours) & (theirs != theirs)
        unequal = (ours != theirs) & ~both_nan
        # float64 holds every difference of the dtypes that matter; NaN counts as infinitely far.
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
        """Return what was found."""
        sqnr = cosine = None
        sums = (self._noise, self._signal, self._own, self._product)
        if self._has_reals and all(map(math.isfinite, sums)):
            lengths = math.sqrt(self._signal) * math.sqrt(self._own)
            sqnr = _decibels(self._signal, self._noise)
            cosine = min(1.0, self._product / lengths) if lengths else None
            cosine = cosine if self._noise else 1.0
        return TensorComparison(
            self._index,
            self._ours.name,
            self._operator,
            self._elements,
            self._differing,
            self._worst,
            dict(self._steps),
            self._first,
            sqnr,
            cosine,
            self._mismatch,
        )

    def _differ(self, elements: int, worst: float, run: int) -> None:
        self._differing += elements
        self._worst = max(self._worst, worst)
        self._first = run if self._first is None else self._first

    def _in_reals(self, ours: Array, theirs: Array) -> tuple[Array, Array]:
        both = (reals(self._ours, ours), reals(self._theirs, theirs))
        first, second = (each.astype(np.float64) for each in both)
        return first, second

    def _sum(self, ours: Array, theirs: Array) -> None:
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
