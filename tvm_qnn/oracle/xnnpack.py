"""ExecuTorch's delegate to XNNPACK, which runs the models that PyTorch's PT2E quantized."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError, needed


def xnnpack_outputs(program: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a quantized PyTorch program on ExecuTorch's delegate to XNNPACK.

    This project reproduces its integers; see the documentation's page on numbers of PyTorch
    models.

    Args:
        program: a ``torch.export.ExportedProgram``, or the path or the contents of a .pt2 file.
        inputs: one array for each input of the program, in its order.

    Returns:
        The program's outputs.

    Raises:
        ModelFormatError: the file is malformed.
        QnnError: torch or executorch is not installed, or ExecuTorch rejects the program.
    """
    return XnnpackSession(program).run(inputs)


class XnnpackSession:
    """A quantized PyTorch program on the delegate; it is made once and run many times."""

    inputs: Sequence[TensorInfo] = ()  # the delegate's tensors have no names
    outputs: Sequence[TensorInfo] = ()

    def __init__(self, program: Any, num_threads: int = 0) -> None:
        """Lower a program.

        Args:
            program: as for ``xnnpack_outputs``.
            num_threads: the threads of all such sessions of the process together; 0: unchanged.

        Raises:
            ModelFormatError: the file is malformed.
            QnnError: torch or executorch is not installed, or ExecuTorch rejects the program.
        """
        from frontends.torch.reader import read_program

        self._torch = check_executorch()
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower
        from executorch.extension.pybindings import portable_lib

        exported = read_program(program)
        if num_threads:
            portable_lib._unsafe_reset_threadpool(num_threads)
        with _told():
            lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
            # The runtime reads from this buffer, but does not keep it alive.
            self._content = lowered.to_executorch().buffer
            self._method = portable_lib._load_for_executorch_from_buffer(self._content)

    def prepare(self, inputs: Sequence[np.ndarray]) -> Callable[[], list[Any]]:
        """Return a function that runs the program on these inputs at each call.

        Args:
            inputs: one array for each input of the program, in its order. They are copied here.
        """
        tensors = [self._torch.from_numpy(np.array(array)) for array in inputs]
        return lambda: list(self._method.forward(tensors))

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run the program once, and return its outputs.

        Raises:
            QnnError: if ExecuTorch fails.
        """
        with _told():
            return [result.numpy().copy() for result in self.prepare(inputs)()]


def check_executorch() -> Any:
    """Check that torch and executorch are installed.

    Returns:
        The package torch.

    Raises:
        QnnError: if one cannot be imported.
    """
    from frontends.torch.package import torch_package

    torch = torch_package()
    with needed("comparing with XNNPACK", "executorch", "'tvm-qnn[torch]'"):
        import executorch.extension.pybindings.portable_lib  # noqa: F401
    return torch


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # torch and executorch have dozens of classes
        raise QnnError(f"ExecuTorch rejects the program: {error}") from error
