"""MaxPool, AveragePool and GlobalAveragePool."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_graphs import Net, Node

SHAPES = [
    *((1, 32, 7, 7), (2, 16, 13, 9), (1, 33, 7, 7), (2, 5, 10, 10), (3, 20, 9, 5)),
    *((1, 16, 21), (1, 6, 3), (1, 16, 3, 5, 7), (2, 3, 1, 1), (1, 7, 1, 2)),
]


@pytest.mark.parametrize("is_input", [True, False], ids=["input", "computed"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_bit_is_onnx_runtimes(shape: tuple[int, ...], *, is_input: bool) -> None:
    nodes: list[Node] = [("GlobalAveragePool", "x" if is_input else "z", "y")]
    nodes += [] if is_input else [("Abs", "x", "z")]
    data = np.random.default_rng(5).normal(1, 3, shape).astype(np.float32)
    Net(nodes[::-1], {"x": data}).check(primitives=True, in_float=True)
