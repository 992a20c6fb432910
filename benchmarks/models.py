"""Models that benchmarks are asked for, and what they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from qnn_ops.signature import TensorInfo
from tvm_qnn import zoo
from tvm_qnn.io.images import noise

Array = np.ndarray[Any, Any]


def models(arguments: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and contents of each model that is asked for.

    An argument is a .tflite file, a network of the zoo in one style, as "inception_v3:int8", or
    in all its styles, as "inception_v3".

    Raises:
        QnnError: if an argument is neither, before any model is made.
    """
    for argument in arguments:
        if argument.partition(":")[0] not in zoo.NAMES and not Path(argument).is_file():
            raise QnnError(
                f"{argument} is neither a file nor a network of the zoo ({', '.join(zoo.NAMES)})"
            )
    return (each for argument in arguments for each in _of_argument(argument))


def _of_argument(argument: str) -> Iterator[tuple[str, bytes]]:
    name, _, style = argument.partition(":")
    if name not in zoo.NAMES:
        yield Path(argument).stem, Path(argument).read_bytes()
        return
    for one in [style] if style else [each for model, each in zoo.MODELS if model == name]:
        yield f"{name} {one}", zoo.build(name, one)


def inputs_of(model: bytes) -> list[Array]:
    """Make noise for each input of a model."""
    graph = read_model(model)
    tensors = [graph.tensors[index] for index in graph.inputs]
    return [noise(TensorInfo(t.name, tuple(t.shape), t.dtype)) for t in tensors]
