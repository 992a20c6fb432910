"""Whole models against LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frontends.tflite.reader import read_model
from tests.support.arrays import full_range
from tvm_qnn.oracle import litert_tensors

Array = np.ndarray[Any, Any]


def check_model(content: bytes, run: Callable[[Sequence[Array]], Sequence[Array]]) -> None:
    """Hold every output that ``run`` computes of a model against LiteRT's reference kernels."""
    graph = read_model(content)
    rng = np.random.default_rng(0)
    inputs = [
        full_range(rng, graph.tensors[index].dtype, tuple(graph.tensors[index].shape))
        for index in graph.inputs
    ]
    expected = litert_tensors(content, inputs)
    results = run(inputs)
    for index, result in zip(graph.outputs, results, strict=True):
        assert result.dtype == expected[index].dtype
        np.testing.assert_array_equal(result, expected[index])
        assert len(np.unique(result)) > 1
