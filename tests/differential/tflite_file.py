"""Files of random TFLite graphs, and LiteRT's answers."""

import warnings
from typing import Any

import numpy as np

from frontends.tflite import WrappingSumsWarning, from_tflite
from tests.differential.file import File
from tests.differential.graphs import Graph
from tests.differential.growth import grow
from tvm_qnn.oracle import litert_runs


def tflite_file(seed: int, graphs: int) -> File:
    """Return a file of random graphs."""
    file = Graph(np.random.default_rng(seed))
    for _ in range(graphs):
        grow(file)
    content = file.writer.finish(file.inputs, file.outputs)

    def load() -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing may fall back to float32
            warnings.simplefilter("ignore", WrappingSumsWarning)  # they wrap in LiteRT, too
            return from_tflite(content)

    runs = litert_runs(content, [file.arrays] * 2)  # in the second they know the first
    answers = [[found[index] for index in file.outputs] for found in runs]
    bounds = [file.bounds.get(index, 0.0) for index in file.outputs]
    return File(content, len(file.codes), file.arrays, file.owners, answers, load, bounds)
