import numpy as np
import onnx

from frontends.onnx.source import OnnxSource
from tests.support.onnx_graphs import Net, Node


def test_constants_are_those_of_the_tensors_they_are_named_for() -> None:
    """Also where a file lists them as inputs, as old ones do."""
    constants = {"w": np.full((1, 4), 2, np.float32), "v": np.full((4,), 3, np.float32)}
    nodes: list[Node] = [("Mul", "x w", "y"), ("Add", "y v", "z")]
    model = Net(nodes, {"x": np.ones((1, 4), np.float32)}, constants).model
    for name, array in constants.items():
        value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
        model.graph.input.append(value)
    source = OnnxSource(model)
    summary = source.summary("m")
    notes = {
        note.name: note
        for operator in summary.operators
        for note in (*operator.inputs, *operator.outputs)
    }
    assert len({note.index for note in notes.values()}) == len(notes) == 5
    held = source.constants()
    assert {note.name for note in notes.values() if note.index in held} == constants.keys()
    for name, array in constants.items():
        assert notes[name].is_constant
        np.testing.assert_array_equal(held[notes[name].index], array)
    assert [note.name for note in summary.inputs] == ["x"]
