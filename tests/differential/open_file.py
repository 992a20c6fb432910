"""Files of random TFLite graphs with open sizes, and LiteRT's answers for several sizes."""

import warnings
from collections.abc import Sequence
from itertools import count, islice
from typing import Any

import numpy as np

from frontends.tflite import WrappingSumsWarning, from_tflite
from qnn_ops.arrays import Array
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tests.differential.file import File
from tests.differential.graphs import Graph
from tests.differential.growth import grow
from tvm_qnn.oracle import litert_tensors

RUNS = 3
"""How many sizes are tried."""

Sizes = list[tuple[Any, ...]]
"""The sizes of each input: numbers and names."""


def open_file(seed: int, graphs: int) -> File:
    """Return a file of graphs that take other sizes, in LiteRT and here."""
    fitting = (number for number in count() if _is_fitting(seed, number))
    numbers = list(islice(fitting, graphs))
    file = _grown(seed, numbers)
    names = [size for number in numbers for size in _opened(_grown(seed, [number]), seed, number)]
    content = file.writer.finish(file.inputs, file.outputs)
    runs = _runs(file, names, seed, numbers[0])
    found = [litert_tensors(content, arrays, resize=True) for arrays in runs]
    answers = [[each[index] for index in file.outputs] for each in found]
    bounds = [file.bounds.get(index, 0.0) for index in file.outputs]

    def load() -> tuple[Any, Any]:
        return _imported(content, names)

    return File(content, len(file.codes), file.arrays, file.owners, answers, load, bounds, runs)


def _grown(seed: int, numbers: Sequence[int]) -> Graph:
    """Return a file of the graphs of these numbers."""
    file = Graph(np.random.default_rng(seed))
    for number in numbers:
        file.rng = np.random.default_rng([seed, number])
        grow(file)
    return file


def _opened(graph: Graph, seed: int, number: int) -> Sizes:
    """Return the sizes of a graph's inputs, with names for one axis or two of the first one's.

    Other inputs have the same name where they have the same size.
    """
    rng, first = np.random.default_rng([seed, number, 1]), graph.arrays[0].shape
    if not first:
        return [array.shape for array in graph.arrays]
    axes = rng.choice(len(first), min(len(first), int(rng.integers(1, 3))), replace=False)
    return [
        tuple(
            f"n{number}_{axis}" if axis in axes and first[axis : axis + 1] == (size,) else size
            for axis, size in enumerate(array.shape)
        )
        for array in graph.arrays
    ]


def _runs(file: Graph, names: Sizes, seed: int, number: int) -> list[list[Array]]:
    """Return inputs of several sizes, of the elements that the inputs have."""
    rng, runs = np.random.default_rng([seed, number, 2]), []
    for _ in range(RUNS):
        sizes: dict[str, int] = {}
        arrays = []
        for array, shape in zip(file.arrays, names, strict=True):
            for axis, name in enumerate(shape):
                if isinstance(name, str):
                    new = sizes.setdefault(name, int(rng.integers(1, 2 * array.shape[axis] + 2)))
                    rows = rng.integers(0, array.shape[axis], new)
                    array = np.take(array, rows, axis)
            arrays.append(array)
        runs.append(arrays)
    return runs


def _is_fitting(seed: int, number: int) -> bool:
    """Tell whether a graph takes other sizes, keeps nothing from run to run, and is imported."""
    graph = _grown(seed, [number])
    names = _opened(graph, seed, number)
    content = graph.writer.finish(graph.inputs, graph.outputs)
    is_open = any(isinstance(size, str) for shape in names for size in shape)
    # The keys of a table are sorted, which other sizes of them would not be.
    if not is_open or "HASHTABLE_LOOKUP" in graph.codes:
        return False
    try:
        for arrays in _runs(graph, names, seed, number):
            litert_tensors(content, arrays, resize=True)
        mod, _ = _imported(content, names)
    except QnnError:
        return False
    return not signature_of(mod).states


def _imported(content: bytes, names: Sizes) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing may fall back to float32
        warnings.simplefilter("ignore", WrappingSumsWarning)  # they wrap in LiteRT, too
        inputs = [each.name for each in signature_of(from_tflite(content)[0]).inputs]
        return from_tflite(content, dict(zip(inputs, names, strict=True)))
