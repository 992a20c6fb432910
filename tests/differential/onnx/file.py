"""Files of random ONNX graphs, and ONNX Runtime's answers."""

import numpy as np

from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError
from tests.differential.file import File, RefusedError
from tests.differential.onnx.graphs import Graph
from tests.differential.onnx.growth import grow
from tvm_qnn.oracle import onnxruntime_outputs


def onnx_file(seed: int, graphs: int, form: str | None = None) -> File:
    """Return a file of random graphs.

    Args:
        seed: of everything that is random.
        graphs: how many there are.
        form: of ``FORMS``; None for either one in each graph.

    Raises:
        RefusedError: ONNX Runtime does not run it, as where a scale is out of its bounds.
    """
    file = Graph(np.random.default_rng(seed), form)
    for _ in range(graphs):
        grow(file)
    model = file.finish()
    try:
        found = onnxruntime_outputs(model, file.arrays)
    except QnnError as error:
        raise RefusedError(str(error)) from error
    answers = [[found[each.name] for each in file.outputs]]
    content = model.SerializeToString()
    return File(
        content, file.operators, file.arrays, file.owners, answers, lambda: from_onnx(content)
    )
