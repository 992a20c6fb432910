"""ExecuTorch's delegate to XNNPACK, which is how PyTorch deploys what PT2E quantized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError


def xnnpack_outputs(program: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a quantized PyTorch program on ExecuTorch's delegate to XNNPACK.

    Its integers are those that this project reproduces; see the documentation's page on numbers of
    PyTorch models.

    Args:
        program: a ``torch.export.ExportedProgram``, or the path or the contents of a .pt2 file.
        inputs: one array for each input of the program, in its order.

    Returns:
        The program's outputs.

    Raises:
        ModelFormatError: the file is malformed.
        QnnError: torch or executorch is not installed, or ExecuTorch rejects the program.
    """
    from frontends.torch.package import torch_package
    from frontends.torch.reader import read_program

    torch = torch_package()
    try:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower
        from executorch.extension.pybindings import portable_lib
    except ImportError as error:
        raise QnnError(
            "comparing with XNNPACK needs the package executorch, which cannot be imported "
            f"({error}); install it with: pip install 'tvm-qnn[torch]'"
        ) from error
    exported = read_program(program)
    try:
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        # The runtime reads from this buffer, and does not keep it.
        content = lowered.to_executorch().buffer
        method = portable_lib._load_for_executorch_from_buffer(content)
        results = method.forward([torch.from_numpy(np.array(array)) for array in inputs])
        return [result.numpy().copy() for result in results]
    except Exception as error:  # of torch and executorch, dozens of classes
        raise QnnError(f"ExecuTorch rejects the program: {error}") from error
