"""Counts the outcomes of the package onnx's tests of single operators.

python -m tests.census.nodes
python -m tests.census.nodes --only quantize --names
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
import onnx
import onnxruntime
from onnx.backend.test.loader import load_model_tests
from rich.progress import track

from qnn_ops.errors import QnnError
from tests.census.table import row
from tests.support.children import Death, answers
from tvm_qnn.onnxruntime import InferenceSession

CLASSES = (*("equal", "close", "differs", "refused", "refused by ONNX Runtime, too", "fault"),)
"""What may become of a test.

"equal" has all bits of what the test expects or of what ONNX Runtime gives. "close" lies within 64
steps of the largest number. A "fault" is a death, a hang or an error that is not the project's own.
"""

_SECONDS, _MEMORY = 60.0, 12 << 30
_CLOSE_STEPS = 64


def outcome(case: Any) -> tuple[str, str]:
    """Return the class of one test, and why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ours = [_ours(case.model, inputs) for inputs, _ in case.data_sets]
        except QnnError as error:
            runs = all(_theirs(case.model, inputs) for inputs, _ in case.data_sets)
            return "refused" if runs else "refused by ONNX Runtime, too", str(error)
        except Exception as error:  # of any kind: only QnnError may leave the package
            return "fault", f"{type(error).__name__}: {error}"
        apart = 0.0
        for results, (inputs, expected) in zip(ours, case.data_sets, strict=True):
            wanted = (_arrays(expected), _theirs(case.model, inputs))
            apart = max(apart, min(_steps(results, each) for each in wanted if each is not None))
    kinds = {"equal": apart == 0, "close": apart <= _CLOSE_STEPS}
    kind = next((kind for kind, holds in kinds.items() if holds), "differs")
    return kind, f"{apart:g} steps"


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    return [
        onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
        for value in values
    ]


def _ours(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[np.ndarray]:
    session = InferenceSession(model.SerializeToString())
    arrays = dict(zip([each.name for each in session.get_inputs()], _arrays(inputs), strict=True))
    return session.run(None, arrays)


def _theirs(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[np.ndarray] | None:
    """Return ONNX Runtime's results; None if it refuses the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        names = [each.name for each in session.get_inputs()]
        found: list[np.ndarray] = session.run(None, dict(zip(names, _arrays(inputs), strict=False)))
    except Exception:  # of several kinds, all of them refusals
        return None
    return found


def _steps(results: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> float:
    """Return by how many steps results lie apart at most, of the largest number of each."""
    if len(results) != len(wanted):
        return float("inf")
    return max(map(_apart, results, wanted), default=0.0)


def _apart(result: np.ndarray, wanted: Any) -> float:
    wanted = np.asarray(wanted)
    if result.dtype != wanted.dtype or result.shape != wanted.shape:
        return float("inf")
    is_real = result.dtype.kind == "f"
    if result.size == 0 or np.array_equal(result, wanted, equal_nan=is_real):
        return 0.0
    if is_real and not np.array_equal(np.isnan(result), np.isnan(wanted)):
        return float("inf")
    with np.errstate(invalid="ignore"):
        apart = np.abs(result.astype("float64") - wanted.astype("float64"))
    most = float(np.nanmax(np.where(result == wanted, 0.0, apart)))  # infinities may be equal
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0) if is_real else 0
    return most / float(np.spacing(largest)) if is_real else most


@click.command()
@click.option("--only", default="", help="Tests whose name has this text.")
@click.option("--names", is_flag=True, help="Print each test that is not equal, and why.")
def main(only: str, names: bool) -> None:
    """Import, build and run every test; ends with 1 at a fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tests of Cast, which overflow
        cases = [each for each in load_model_tests(kind="node") if only in each.name]
    counts: Counter[str] = Counter()
    each_answer = answers(outcome, cases, _SECONDS, _MEMORY)
    for case, answer in zip(cases, track(each_answer, total=len(cases)), strict=True):
        kind, why = ("fault", answer.reason) if isinstance(answer, Death) else answer
        counts[kind] += 1
        if names and kind != "equal":
            click.echo(f"{kind}: {case.name}: {' '.join(why.split())}")
    click.echo("\n".join([row("class", "tests"), row("---", "---:")]))
    click.echo("\n".join(row(kind, counts[kind]) for kind in CLASSES))
    if counts["fault"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
