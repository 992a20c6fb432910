"""Small ONNX models for sessions, and what ONNX Runtime and its stand-in say of them."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tests.support.onnx_graphs import node_of, proto_of
from tests.support.onnx_graphs import onnx as onnx
from tests.support.onnx_graphs import onnxruntime as onnxruntime
from tvm_qnn import onnxruntime as own

Tensor = tuple[str, str, Sequence[int | str | None] | None]
"""Name, ONNX's name of its type, and shape."""

real = onnxruntime
real.set_default_logger_severity(4)


def model_of(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    nodes: Sequence[tuple[str, str, str]],
    constants: dict[str, Any] | None = None,
    **told: Any,
) -> Any:
    """Return a model.

    Args:
        inputs: of it.
        outputs: of it.
        nodes: operator, and names of inputs and outputs between spaces.
        constants: by name.
        told: to ``onnx.helper.make_model``.
    """
    helper = onnx.helper
    values = [
        [helper.make_tensor_value_info(n, getattr(onnx.TensorProto, t), s) for n, t, s in tensors]
        for tensors in (inputs, outputs)
    ]
    given, wanted = values
    made = [node_of(*node) for node in nodes]
    return proto_of(made, given, wanted, constants or {}, **told)


def sums() -> bytes:
    """Return a model of x and y, whose results are z and w."""
    return bytes(
        model_of(
            [("x", "FLOAT", ["N", 3]), ("y", "FLOAT", [1, 3])],
            [("z", "FLOAT", ["N", 3]), ("w", "FLOAT", [None, None])],
            [("Add", "x y", "z"), ("Relu", "z", "w")],
        ).SerializeToString()
    )


@dataclass(frozen=True)
class Outcome:
    """What came of a call: a result or an error, and the warnings."""

    result: Any
    error: Exception | None
    warnings: list[str]


def outcome(work: Callable[[], Any]) -> Outcome:
    """Call a function."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result, error = work(), None
        except Exception as raised:  # ONNX Runtime's have no class in common
            result, error = None, raised
    return Outcome(result, error, [str(each.message) for each in seen])


def both(work: Callable[[Any], Any]) -> tuple[Outcome, Outcome]:
    """Call a function with this package's module and with ONNX Runtime's."""
    return outcome(lambda: work(own)), outcome(lambda: work(real))


def check_same(work: Callable[[Any], Any]) -> Any:
    """Check that a function of the module gives the same for both; return it."""
    ours, theirs = both(work)
    assert theirs.error is None, theirs.error
    assert ours.error is None, ours.error
    check_equal(ours.result, theirs.result)
    return ours.result


def check_equal(ours: Any, theirs: Any) -> None:
    """Check that two results are equal, arrays in dtype and shape, too."""
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs, strict=True)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            check_equal(one, other)
    else:
        assert ours == theirs


def check_same_error(work: Callable[[Any], Any], *, text: bool = True) -> QnnError:
    """Check that a function of the module raises the same error for both; return this package's.

    Args:
        work: the function.
        text: whether the texts are the same, too.
    """
    ours, theirs = both(work)
    assert theirs.error is not None, theirs.result
    assert isinstance(ours.error, QnnError), ours
    kind = type(theirs.error)
    if kind.__module__ == "builtins":
        assert isinstance(ours.error, kind)
    else:
        assert type(ours.error).__name__ == kind.__name__
    if text:
        assert str(ours.error) == str(theirs.error)
    return ours.error
