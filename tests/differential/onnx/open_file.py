"""Files of random ONNX graphs whose inputs have an open first axis."""

import numpy as np

from frontends.onnx import from_onnx
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tests.differential.file import File, RefusedError
from tests.differential.onnx.graphs import Graph
from tests.differential.onnx.growth import grow
from tvm_qnn.oracle import onnxruntime_outputs

_MORE = (1, 2)
"""By how much first axes are longer in the second and in the third run."""


def open_file(seed: int, graphs: int) -> File:
    """Return a file of random graphs, which take first axes of three sizes.

    Inputs with as long a first axis share its name.

    Args:
        seed: of everything that is random.
        graphs: how many there are.

    Raises:
        RefusedError: ONNX Runtime runs it with the first size only, or not at all.
    """
    file = Graph(np.random.default_rng(seed))
    for _ in range(graphs):
        grow(file)
    model = file.finish()
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim[:1]:
            dim.dim_param = f"n{dim.dim_value}"
    for value in (*model.graph.output, *model.graph.value_info):
        value.type.tensor_type.ClearField("shape")
    runs = [file.arrays, *([_longer(each, more) for each in file.arrays] for more in _MORE)]
    try:
        found = [onnxruntime_outputs(model, arrays) for arrays in runs]
    except QnnError as error:
        raise RefusedError(str(error)) from error
    answers = [[each[value.name] for value in file.outputs] for each in found]
    names = {
        value.type.tensor_type.shape.dim[0].dim_param
        for value in model.graph.input
        if value.type.tensor_type.shape.dim
    }
    content, sizes = model.SerializeToString(), {name: range(1, 65) for name in names}
    return File(
        content,
        file.operators,
        file.arrays,
        file.owners,
        answers,
        lambda: from_onnx(content, sizes),
        runs=runs,
    )


def _longer(array: Array, more: int) -> Array:
    """Return an array with so many rows more, which are the first ones again."""
    return np.resize(array, (array.shape[0] + more, *array.shape[1:])) if array.ndim else array
