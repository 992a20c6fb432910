"""Whole models against LiteRT's reference kernels."""

from collections.abc import Callable, Sequence

import numpy as np

from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from tests.support.arrays import full_range
from tvm_qnn import build
from tvm_qnn.oracle import litert_runs, litert_tensors


def differing_tensors(
    content: bytes, runs: Sequence[Sequence[np.ndarray]], target: str, *, kernels: bool
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


def check_model(
    content: bytes, run: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]
) -> None:
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
