"""What ONNX Runtime takes and the package onnx does not, against ONNX Runtime."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import ModelFormatError
from frontends.onnx import from_onnx
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, check_equal, compiled, on_runtime, onnx

DATA = {"x": np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8)}
CONSTANTS: dict[str, Any] = {
    "w": np.random.default_rng(0).integers(-127, 128, (8, 8), np.int8),
    "s_w": np.float32(0.02),
    "z_w": np.int8(0),
}
DENSE = [
    ("DynamicQuantizeLinear", "x", "q s z"),
    ("MatMulInteger", "q w z z_w", "sums"),
    ("Cast", "sums", "real", {"to": 1}),
    ("Mul", "s s_w", "m"),
    ("Mul", "real m", "d"),
    ("Relu", "d", "y"),
]


def dense() -> Any:
    return onnx.shape_inference.infer_shapes(Net(DENSE, DATA, CONSTANTS).model)


def backwards(nodes: Any) -> None:
    ranks = iter(range(len(nodes), 0, -1))
    nodes.sort(key=lambda _: next(ranks))


def branch(model: Any, is_ordered: bool = False) -> Any:
    """Put the nodes of a model into both branches of an If."""
    helper = onnx.helper
    inner = onnx.GraphProto()
    inner.CopyFrom(model.graph)
    del inner.input[:], inner.initializer[:]
    inner.output[0].name = "t"
    inner.node[-1].output[0] = "t"
    other = onnx.GraphProto()
    other.CopyFrom(inner)
    if not is_ordered:
        backwards(inner.node)
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=other)
    del model.graph.node[:]
    model.graph.node.append(node)
    model.graph.node.append(helper.make_node("Less", ["s_w", "limit"], ["c"]))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(1), "limit"))
    return model


def test_nodes_come_in_any_order() -> None:
    model = dense()
    backwards(model.graph.node)
    check_equal(model, DATA)


def test_nodes_of_branches_come_in_any_order() -> None:
    """Also where ONNX Runtime wants an order."""
    expected = on_runtime(branch(dense(), is_ordered=True), DATA)
    np.testing.assert_array_equal(compiled(branch(dense()), DATA), expected)


def _of_older_format(model: Any) -> None:
    model.ir_version = 3


def _with_two_values(model: Any) -> None:
    model.graph.initializer[1].float_data.append(7)


def _without_names(model: Any) -> None:
    model.graph.name = ""
    for node in model.graph.node:
        node.domain = "ai.onnx"


def _with_odd_constants(model: Any) -> None:
    model.graph.initializer.insert(0, onnx.numpy_helper.from_array(np.float32(7), "s_w"))
    cut = model.graph.initializer.add()
    cut.name, cut.data_type, cut.raw_data = "cut", 1, b"abc"
    cut.dims.append(9)
    model.graph.initializer.add().data_type = 1


def _without_types(model: Any) -> None:
    model.graph.output[0].ClearField("type")
    model.graph.value_info.add().name = "d"
    for _ in range(2):
        entry = model.metadata_props.add()
        entry.key = entry.value = "twice"


@pytest.mark.parametrize(
    "change",
    [_of_older_format, _with_two_values, _without_names, _with_odd_constants, _without_types],
)
def test_what_onnx_runtime_takes_is_not_malformed(change: Callable[[Any], None]) -> None:
    model = dense()
    change(model)
    check_equal(model, DATA)


def test_outputs_without_a_type_are_compared() -> None:
    net = Net([("Relu", "x", "y")], DATA)
    stored = net.model.SerializeToString()
    (found,) = qnn.compare(net.model, [*DATA.values()]).outputs
    assert (found.name, found.elements, found.differing) == ("y", DATA["x"].size, 0)
    assert net.model.SerializeToString() == stored


def test_a_circle_is_told_by_its_nodes() -> None:
    model = dense()
    model.graph.node[1].input[2] = "m"
    model.graph.node[3].input[0] = "d"
    fails("not acyclic", on_runtime, model, DATA, error=Exception)
    fails(r"in a circle: .*Mul 'm'", from_onnx, model, error=ModelFormatError)


def test_a_tensor_that_nothing_makes_is_named() -> None:
    model = dense()
    model.graph.node[2].input[0] = "nothing"
    with pytest.raises(
        ModelFormatError, match=r"Cast of \['real'\] reads 'nothing', which nothing"
    ):
        from_onnx(model)


@pytest.mark.parametrize("name", [b"real", b"s_w"])
def test_names_that_are_no_text_are_malformed(name: bytes) -> None:
    content = dense().SerializeToString()
    for count in (-1, 1):  # everywhere, and where a tensor is made or first read
        with pytest.raises(ModelFormatError, match="malformed"):
            from_onnx(content.replace(name, b"\xff\xe8" + name[2:], count))


@pytest.mark.parametrize(("op", "declared"), [("MatMulInteger16", ""), ("QGemm", "com.microsoft")])
def test_domains_need_no_version_where_another_has_one(op: str, declared: str) -> None:
    rng = np.random.default_rng(3)
    if op == "QGemm":
        inputs = {"a": rng.integers(0, 256, (3, 3)).astype(np.uint8)}
        constants = {
            "s": np.float32(0.1),
            "z": np.uint8(3),
            "b": rng.integers(0, 9, (3, 3), np.uint8),
        }
        model = Net([(op, "a s z b s z", "y")], inputs, constants).model
    else:
        inputs = {n: rng.integers(-30000, 30000, (2, 3, 3)).astype(np.int16) for n in "ab"}
        model = Net([(op, "a b", "y")], inputs).model
    kept = [each for each in model.opset_import if each.domain == declared]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    check_equal(model, inputs)


def test_a_scalar_input_takes_the_shape_that_is_given() -> None:
    data = {"x": np.array([1.5, 2.5], np.float32)}
    model = Net([("Neg", "x", "y")], {"x": np.ones((), np.float32)}).model
    mod, params = from_onnx(model, {"x": (2,)})
    library = qnn.build(mod, "host", params)
    np.testing.assert_array_equal(library.run(data), on_runtime(model, data)[0])
