"""Checks the sizes of a model's tensors against the bounds of ``frontends.bounds``."""

from collections.abc import Mapping, Sequence

from frontends.bounds import Allowance, bytes_of, check_grown
from frontends.errors import UnsupportedError
from frontends.tflite.model import Model, State
from qnn_ops.errors import QnnError


def growth_of(
    model: Model, shapes: Mapping[int, Sequence[int]], states: Sequence[State]
) -> Allowance:
    """Return the count of a model before anything is computed.

    Args:
        model: the model, with its subgraphs.
        shapes: of its inputs, by tensor number.
        states: its states.

    Raises:
        QnnError: the file states an input that is too large.
    """
    tensors = [tensor for graph in (model, *model.subgraphs) for tensor in graph.tensors]
    # Tensors may share a buffer.
    sizes = {each.data.ctypes.data: each.data.nbytes for each in tensors if each.data is not None}
    held = sum(sizes.values())
    for index, shape in shapes.items():
        tensor = model.tensors[index]
        if tuple(shape) == tensor.shape:
            try:
                check_grown(shape, tensor.dtype, held)
            except UnsupportedError as error:
                raise QnnError(f"{tensor.label}, an input: {error}") from error
    ends = [(shape, model.tensors[index].dtype) for index, shape in shapes.items()]
    kept = [(state.tensor.shape, state.tensor.dtype) for state in states]
    return Allowance(held, sum(bytes_of(*each) for each in (*ends, *kept)))
