"""LiteRT, the runtime of TFLite models, with either of its sets of fast kernels."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Array, Peer, Session


class LiteRt(Peer):
    """LiteRT with XNNPACK, its default, or with its own optimized kernels."""

    distribution = "ai-edge-litert"
    modules = ("ai_edge_litert.interpreter",)

    def __init__(self, xnnpack: bool) -> None:
        """Choose the kernels.

        Args:
            xnnpack: whether to use XNNPACK's kernels.
        """
        self.name = "LiteRT, XNNPACK" if xnnpack else "LiteRT, built-in"
        self._resolver = "AUTO" if xnnpack else "BUILTIN_WITHOUT_DEFAULT_DELEGATES"

    def load(self, file: Path, threads: int) -> Session:
        """Load the .tflite file."""
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        interpreter = Interpreter(
            model_path=str(file),
            num_threads=threads,
            experimental_op_resolver_type=OpResolverType[self._resolver],
        )
        interpreter.allocate_tensors()
        return _Session(interpreter)


class _Session:
    def __init__(self, interpreter: Any) -> None:
        self._interpreter = interpreter

    def prepare(self, inputs: Sequence[Array]) -> Callable[[], object]:
        for detail, array in zip(self._interpreter.get_input_details(), inputs, strict=True):
            self._interpreter.set_tensor(detail["index"], array)
        run: Callable[[], object] = self._interpreter.invoke
        return run

    def outputs(self) -> list[Array]:
        details = self._interpreter.get_output_details()
        return [self._interpreter.get_tensor(detail["index"]) for detail in details]
