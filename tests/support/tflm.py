"""What TFLM, LiteRT for Microcontrollers, computes: the interpreter of the package tflite-micro."""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import flatbuffers
import numpy as np

from frontends.tflite.reader import read_model

FILE = Path(__file__).parents[1] / "fixtures" / "tflm" / "tflm.npz"
"""Small models, and TFLM's results, which `tests.fixtures.tflm.make` writes."""

_ARENA = 1 << 22


@cache
def _fixture() -> dict[str, np.ndarray]:
    with np.load(FILE) as arrays:
        return dict(arrays)


def golden_names() -> list[str]:
    """Return the names of the fixture's models, as "ADD-0"."""
    return sorted({key.split("/")[0] for key in _fixture()})


def golden(name: str) -> tuple[bytes, list[np.ndarray], list[np.ndarray]]:
    """Return a model of the fixture, its inputs, and TFLM's outputs."""
    found = _fixture()
    ends = [
        [found[key] for key in sorted(found) if key.startswith(f"{name}/{kind}")]
        for kind in ("input", "output")
    ]
    return found[f"{name}/model"].tobytes(), ends[0], ends[1]


def missing() -> str | None:
    """Name what this environment lacks to run TFLM."""
    found = importlib.util.find_spec("tflite_micro")
    return None if found else "the package tflite-micro is not installed"


class TFLM:
    """A model as TFLM runs it.

    Args:
        content: the contents of a .tflite file, which has the shapes of all tensors.

    Raises:
        RuntimeError: TFLM does not take the model.
    """

    def __init__(self, content: bytes) -> None:
        from tflite_micro import runtime

        self._interpreter = runtime.Interpreter.from_bytes(content, arena_size=_ARENA)
        self._outputs = len(read_model(content).outputs)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs of a run.

        Raises:
            RuntimeError, ValueError: TFLM does not take the inputs, or fails.
        """
        for number, array in enumerate(inputs):
            self._interpreter.set_input(array, number)
        self._interpreter.invoke()
        return [self._interpreter.get_output(number) for number in range(self._outputs)]


def with_shapes(content: bytes, outputs: Sequence[np.ndarray]) -> bytes:
    """Return a model whose file has the shapes of its outputs, which TFLM reads there.

    Args:
        content: the contents of a .tflite file.
        outputs: of it.
    """
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(content, 0)
    graph = model.subgraphs[0]
    for number, array in zip(graph.outputs, outputs, strict=True):
        graph.tensors[number].shape = list(array.shape)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
