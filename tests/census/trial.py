"""One model file, here and on LiteRT's reference kernels, each in a process that may die."""

import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.interface.ends import tensor_names
from frontends.tflite.model import Model, Operator, Tensor
from frontends.tflite.notes import QuantizedFallbackWarning
from frontends.tflite.reader import read_model
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.children import Death, answers, without_stderr
from tvm_qnn.build import build
from tvm_qnn.compare import Comparison, compare
from tvm_qnn.oracle import LiteRtSession, litert_tensors

CLASSES = ("equal", "close", "differs", "refused", "LiteRT refuses", "LiteRT dies", "crashed")
"""The outcomes of a file: "refused" means that LiteRT runs it and tvm-qnn does not import it.

"close" is a file whose first difference is one of float32, where the order of sums or a library's
last digits decide, and in which what follows from that lies near, too: either as it is, or, since
data that runs quantize amplifies what differs, operator by operator, each on LiteRT's own data.
"""

_SECONDS = 900.0
_MEMORY = 12 << 30
# Of a tensor's largest number: the first that differs, and those that are computed from it, some
# of which are rounded to 8 bits on the way. Integers may lie so many steps apart.
_CLOSE_FIRST, _CLOSE_LATER, _CLOSE_STEPS = 1e-5, 0.02, 2
_RANDOM_INDICES = 8  # arbitrary: smaller numbers are indices of most tables


@dataclass(frozen=True)
class Outcome:
    """What became of a file.

    Attributes:
        file: its path below the folder.
        kind: one of ``CLASSES``.
        reasons: each reason once: missing operators, refusals, the first difference.
        operators: how many it has; 0 if it cannot be read.
        elements: how many were compared.
        differing: how many of them differ.
        in_float: operators that were computed in float32 for want of an integer rule.
        imports: whether tvm-qnn imports it, regardless of LiteRT.
    """

    file: str
    kind: str
    reasons: tuple[str, ...] = ()
    operators: int = 0
    elements: int = 0
    differing: int = 0
    in_float: tuple[str, ...] = ()
    imports: bool = False


def try_file(folder: Path, file: Path, seconds: float = _SECONDS) -> Outcome:
    """Compare one untrusted file."""
    name = str(file.relative_to(folder))
    with tempfile.TemporaryDirectory() as place:
        kept = Path(place) / "expected.npz"
        theirs = _in_child(partial(_ask_litert, kept), file, seconds)
        ours = _in_child(_imports if theirs else partial(_compare, kept), file, seconds)
    if isinstance(ours, Death):
        return Outcome(name, "crashed", (ours.reason,))
    if theirs is not None:
        dies = isinstance(theirs, Death)
        kind, reason = ("LiteRT dies", theirs.reason) if dies else ("LiteRT refuses", theirs)
        return Outcome(name, kind, (reason,), imports=ours)
    return Outcome(name, **ours, imports=ours["kind"] != "refused")


def _in_child(work: Callable[[Path], Any], file: Path, seconds: float) -> Any:
    (answer,) = answers(work, [file], seconds, _MEMORY)
    return answer


def _ask_litert(kept: Path, file: Path) -> str | None:
    """Keep all tensors in a file; tell why there are none."""
    try:
        content = file.read_bytes()
        with without_stderr():
            expected = _expected(content)
    except Exception as error:
        return _reason(error)
    arrays: dict[str, Any] = {str(index): array for index, array in expected.items()}
    np.savez(kept, **arrays)
    return None


def _expected(content: bytes) -> dict[int, Array]:
    """Return all tensors; none of a model that LiteRT takes and that cannot be read here."""
    try:
        inputs = _inputs(content)
    except QnnError:
        LiteRtSession(content, reference=True)
        return {}
    return litert_tensors(content, inputs)


def _imports(file: Path) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = read_model(str(file))
            from_tflite(graph, _open_shapes(graph))
    except QnnError:
        return False
    return True


def _inputs(content: bytes) -> list[Array]:
    graph = read_model(content)
    rng = np.random.default_rng(0)
    return [_data(rng, graph.tensors[index]) for index in graph.inputs]


def _open_shapes(graph: Model) -> dict[str, tuple[int, ...]]:
    """Give the inputs whose sizes the file leaves open those that LiteRT takes by itself."""
    names = tensor_names(graph.tensors)
    tensors = {names[index]: graph.tensors[index] for index in graph.inputs}
    return {name: each.shape for name, each in tensors.items() if -1 in each.shape_signature}


def _data(rng: np.random.Generator, tensor: Tensor) -> Array:
    if tensor.dtype.startswith("float"):
        return np.asarray(rng.normal(0, 1, tensor.shape)).astype(tensor.dtype)
    if tensor.dtype == "bool":
        return np.asarray(rng.random(tensor.shape) < 0.5)
    if tensor.quantization is None and tensor.dtype in ("int32", "int64"):
        return rng.integers(0, _RANDOM_INDICES, tensor.shape).astype(tensor.dtype)
    return full_range(rng, tensor.dtype, tensor.shape)


def _compare(kept: Path, file: Path) -> dict[str, Any]:
    """Give the fields of an outcome, except for the file's name."""
    try:
        content = file.read_bytes()
        graph = read_model(content)
        with np.load(kept) as stored:
            expected = {int(index): stored[index] for index in stored.files}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            shapes = _open_shapes(graph)
            comparison = compare(content, _inputs(content), expected=expected, shape_dict=shapes)
    except UnsupportedOperatorError as error:
        reasons = {_missing(code, reason) for _, code, reason, _ in error.operators}
        return {"kind": "refused", "reasons": tuple(sorted(reasons))}
    except QnnError as error:
        return {"kind": "refused", "reasons": (_reason(error),)}
    except Exception as error:
        return {"kind": "crashed", "reasons": (_reason(error),)}
    texts = [str(w.message) for w in caught if issubclass(w.category, QuantizedFallbackWarning)]
    in_float = tuple(sorted({text.split()[2] for text in texts}))
    return {
        "kind": _kind(graph, comparison, expected, _inputs(content)),
        "reasons": _first_difference(graph, comparison, in_float),
        "operators": len(graph.operators),
        "elements": comparison.elements,
        "differing": sum(tensor.differing for tensor in comparison.tensors),
        "in_float": in_float,
    }


def _kind(
    graph: Model, comparison: Comparison, expected: dict[int, Array], inputs: Sequence[Array]
) -> str:
    if comparison.is_equal:
        return "equal"
    if _lies_near(comparison, expected):
        return "close"
    known = {**dict(zip(graph.inputs, inputs, strict=True)), **expected}
    makers = {index: each for each in graph.operators for index in each.outputs}
    wrong = dict.fromkeys(makers[tensor.index] for tensor in comparison.differing)
    is_float = expected[comparison.differing[0].index].dtype == np.float32
    near = is_float and all(_lies_near_alone(graph, each, known) for each in wrong)
    return "close" if near else "differs"


def _lies_near_alone(graph: Model, operator: Operator, known: dict[int, Array]) -> bool:
    """Tell whether an operator is LiteRT's, except for float32's last digits, on the same data."""
    read = dict.fromkeys(index for index in operator.inputs if index in known)
    part = replace(graph, operators=(operator,), inputs=tuple(read), outputs=operator.outputs)
    try:
        mod, params = from_tflite(part)
    except QnnError:  # the file leaves something open, such as shapes
        return False
    results = build(mod, "host", params).run(*[known[index] for index in read])
    arrays = list(results.values()) if isinstance(results, dict) else [results]
    for index, array in zip(operator.outputs, arrays, strict=True):
        expected, found = known[index], np.asarray(array)
        if np.array_equal(found, expected):
            continue
        if found.dtype != np.float32 or found.shape != expected.shape:
            return False
        if not (np.abs(found - expected) <= _CLOSE_FIRST * np.abs(expected).max()).all():
            return False
    return True


def _lies_near(comparison: Comparison, expected: dict[int, Array]) -> bool:
    most = _CLOSE_FIRST
    for tensor in comparison.differing:
        theirs = expected[tensor.index]
        if theirs.dtype == np.float32:
            allowed = most * float(np.abs(theirs).max())
        else:
            allowed = _CLOSE_STEPS if most == _CLOSE_LATER else 0.0
        if not tensor.worst <= allowed:
            return False
        most = _CLOSE_LATER
    return True


def _first_difference(
    graph: Model, comparison: Comparison, in_float: Sequence[str]
) -> tuple[str, ...]:
    if comparison.is_equal:
        return ()
    first = comparison.differing[0]
    dtype = graph.tensors[first.index].dtype
    how = ", computed in float32" if first.operator in in_float else ""
    return (f"first at {first.operator} of {dtype}{how}",)


def _missing(code: str, reason: str) -> str:
    return code if reason == "no conversion rule" else f"{code}: {_general(reason)}"


def _reason(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[-1].strip()
    return _general(text if isinstance(error, QnnError) else f"{type(error).__name__}: {text}")


def _general(text: str) -> str:
    """Drop details of a single file, so that similar reasons are counted together."""
    text = re.sub(r"^operator \d+ (\S+) \(.*?\): ", r"\1: ", text)
    text = re.sub(r"(tensor) \d+ '[^']*'", r"\1", text)
    return re.sub(r"[-(\[]?\d[\d.e+, ()\[\]-]*", "# ", text).strip()[:160]
