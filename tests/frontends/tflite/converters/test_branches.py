"""IF, and subgraphs that are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from tvm_qnn.compare import compare

Array = np.ndarray[Any, Any]

Q = Quantization.per_tensor(0.5, 3)


def choice(known: bool | None) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", Q)
    data = None if known is None else np.array(known)
    flag = writer.tensor("flag", (), "bool", None, data)
    y = writer.tensor("y", (1, 4), "int8", Q)
    writer.operator("IF", [flag, x], [y], then_subgraph_index=1, else_subgraph_index=2)
    for code in ("RELU", "RELU6"):
        graph = writer.subgraph()
        a, b = (graph.tensor(name, (1, 4), "int8", Q) for name in "ab")
        graph.operator(code, [a], [b])
        graph.end([a], [b])
    return writer.finish([x] if known is not None else [x, flag], [y])


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("flag", [False, True])
def test_either_branch_equals_litert(flag: bool, is_known: bool) -> None:
    data = np.array([[-90, 0, 9, 100]], np.int8)
    model = choice(flag if is_known else None)
    inputs = [data] if is_known else [data, np.array(flag)]
    assert compare(model, inputs, "llvm").differing == ()


def test_subgraphs_that_run_themselves() -> None:
    writer = ModelWriter()
    flag = writer.tensor("flag", (), "bool", None, np.array(True))
    x, y = (writer.tensor(name, (1, 4), "int8", Q) for name in "xy")
    writer.operator("IF", [flag, x], [y], then_subgraph_index=1, else_subgraph_index=1)
    graph = writer.subgraph()
    again = graph.tensor("flag", (), "bool", None, np.array(True))
    a, b = (graph.tensor(name, (1, 4), "int8", Q) for name in "ab")
    graph.operator("IF", [again, a], [b], then_subgraph_index=1, else_subgraph_index=1)
    graph.end([a], [b])
    with pytest.raises(UnsupportedOperatorError, match="more than 8 deep"):
        from_tflite(writer.finish([x], [y]))


def test_a_subgraph_takes_what_it_is_given() -> None:
    writer = ModelWriter()
    flag = writer.tensor("flag", (), "bool", None, np.array(True))
    x = writer.tensor("x", (1, 4), "int8", Q)
    writer.operator("IF", [flag], [x], then_subgraph_index=1, else_subgraph_index=1)
    graph = writer.subgraph()
    a = graph.tensor("a", (1, 4), "int8", Q)
    graph.end([a], [a])
    with pytest.raises(QnnError, match="its subgraph takes 1 tensors, gets 0"):
        from_tflite(writer.finish([], [x]))
