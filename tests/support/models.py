"""Whole models against LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from tvm_qnn import build
from tvm_qnn.oracle import litert_runs

Array = np.ndarray[Any, Any]


def differing_tensors(
    content: bytes, runs: Sequence[Sequence[Array]], target: str, *, kernels: bool
) -> list[str]:
    """Return the tensors of a model, over runs after each other, in which any element differs."""
    graph = read_model(content)
    mod, params = from_tflite(graph, outputs="all")
    library = build(mod, target, params, kernels=kernels)
    differing = []
    for inputs, expected in zip(runs, litert_runs(content, runs), strict=True):
        result = library.run(*inputs)
        results = list(result.values()) if isinstance(result, dict) else [result]
        assert len(results) == len(graph.computed)
        differing += [
            graph.tensors[index].label
            for index, array in zip(graph.computed, results, strict=True)
            if array.dtype != expected[index].dtype or not np.array_equal(array, expected[index])
        ]
    return differing
