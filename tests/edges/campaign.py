"""Runs models of one operator here and on their framework, in processes that may die; compares."""

import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from frontends.tflite import from_tflite
from frontends.tflite.notes import QuantizedFallbackWarning
from frontends.tflite.reader import read_model
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tests.edges.draw import Case, case_of
from tests.support.children import Death, answers, without_stderr
from tests.support.tflm import TFLM, with_shapes
from tvm_qnn import build
from tvm_qnn.oracle import LiteRtSession, litert_tensors

# Tables of functions in float32 are not those of the C library that LiteRT calls.
_FLOAT_TOLERANCE = 1e-4
_PATIENCE = 120.0
# LiteRT's default kernels compute them; reference ones there are none.
_WITHOUT_REFERENCE = (*("SEGMENT_SUM", "STABLEHLO_AND", "STABLEHLO_CASE", "STABLEHLO_SHIFT_LEFT"),)

GOOD = ("equal", "refused by both", "refused here", "refused there", "in float32")
"""The allowed outcomes of a model; all others are faults."""


@dataclass(frozen=True)
class Answer:
    """What one side makes of a model: arrays, or why there are none.

    Attributes:
        arrays: of the outputs, None if there are none.
        kind: "ran", "refused", "failed" (with what is no error of the project's) or "died".
        reason: why there are no arrays.
    """

    kind: str
    arrays: tuple[Array, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of the model of one seed.

    Attributes:
        seed: that makes the model again.
        code: its operator.
        kind: one of `GOOD`, or the fault.
        text: the reason.
    """

    seed: int
    code: str
    kind: str
    text: str = ""


@dataclass(frozen=True)
class Framework:
    """What models are compared with.

    Attributes:
        name: of it.
        run: computes a model's results.
        semantics: how the model is imported to give the same.
        dies: the outcome of its death: "died", a fault, or "refused", if it refuses by assertions.
    """

    name: str
    run: Callable[[Case], Answer]
    semantics: str
    dies: str


def _litert(case: Case) -> Answer:
    outputs = read_model(case.content).outputs
    if case.code in _WITHOUT_REFERENCE:
        with without_stderr():
            session = LiteRtSession(case.content, xnnpack=False)
            return Answer("ran", tuple(session.run(case.arrays)))
    with without_stderr():
        tensors = litert_tensors(case.content, case.arrays)
    if any(index not in tensors for index in outputs):
        return Answer("refused", reason="LiteRT gives a result no memory")
    return Answer("ran", tuple(tensors[index] for index in outputs))


def _tflm(case: Case) -> Answer:
    shaped = _litert(case)
    if any(not each.size for each in shaped.arrays):
        return Answer("refused", reason="an output without elements is never read")
    content = with_shapes(case.content, shaped.arrays)
    with without_stderr():
        return Answer("ran", tuple(TFLM(content).run(case.arrays)))


FRAMEWORKS = {
    "litert": Framework("LiteRT", _litert, "litert", "died"),
    "tflm": Framework("TFLM", _tflm, "tflm", "refused"),
}
"""By the semantics that give what each computes."""


def _ours(semantics: str, case: Case) -> Answer:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mod, params = from_tflite(case.content, semantics=semantics)
    library = build(mod, "host", params)
    result: Any = library.run(*case.arrays)
    arrays = tuple(result.values()) if isinstance(result, dict) else (result,)
    fell_back = any(issubclass(each.category, QuantizedFallbackWarning) for each in caught)
    return Answer("ran", arrays, "in float32" if fell_back else "")


def run_campaign(
    seeds: Sequence[int], framework: Framework = FRAMEWORKS["litert"]
) -> Iterator[Outcome]:
    """Compare the models of some seeds."""
    sides = (framework.run, framework.dies), (partial(_ours, framework.semantics), "died")
    answered = (_answers(side, dies, seeds) for side, dies in sides)
    for seed, theirs, ours in zip(seeds, *answered, strict=True):
        kind, text = _verdict(theirs, ours, framework.name)
        yield Outcome(seed, case_of(seed).code, kind, text)


def _verdict(theirs: Answer, ours: Answer, name: str) -> tuple[str, str]:
    if ours.kind in ("failed", "died"):
        return f"{ours.kind} here", ours.reason
    if theirs.kind == "died":
        return (
            ("refused by both", "") if ours.kind == "refused" else (f"{name} dies", theirs.reason)
        )
    if theirs.kind != "ran":
        if ours.kind == "refused":
            return "refused by both", ""
        return "refused there", theirs.reason
    if ours.kind == "refused":
        return "refused here", ours.reason
    for mine, wanted in zip(ours.arrays, theirs.arrays, strict=True):
        if mine.dtype != wanted.dtype or mine.shape != wanted.shape:
            found, needed = (f"{a.dtype}{list(a.shape)}" for a in (mine, wanted))
            return "differs", f"{found}, {name}'s is {needed}"
        if ours.reason:
            continue
        if not _are_equal(mine, wanted):
            return "differs", f"{np.count_nonzero(mine != wanted)} of {mine.size} elements"
    return (ours.reason or "equal"), ""


def _are_equal(mine: Array, wanted: Array) -> bool:
    if mine.dtype != np.float32:
        return np.array_equal(mine, wanted)
    return np.allclose(mine, wanted, _FLOAT_TOLERANCE, _FLOAT_TOLERANCE, equal_nan=True)


def _answers(side: Callable[[Case], Answer], dies: str, seeds: Sequence[int]) -> Iterator[Answer]:
    """Yield the answers of one side, in order."""
    for answer in answers(partial(_answer, side), seeds, _PATIENCE):
        yield Answer(dies, reason=answer.reason) if isinstance(answer, Death) else answer


def _answer(side: Callable[[Case], Answer], seed: int) -> Answer:
    try:
        return side(case_of(seed))
    except QnnError as error:
        return Answer("refused", reason=str(error).splitlines()[-1].strip())
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = (str(error).strip().splitlines() or [""])[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        return Answer("failed", reason=f"{type(error).__name__}: {text[:150]} ({where})")
