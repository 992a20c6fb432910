"""Lists of tensors, as Keras' layers over time have them where TensorFlow's operators are kept.

LiteRT's package has none of these operators. TensorFlow's results define them.
"""

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite import from_tflite
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from tests.support.errors import failing
from tests.support.tflite import check_refused
from tvm_qnn import build

_FLOAT, _INT32 = 1, 3


def attribute(name: str, field: int, number: int) -> bytes:
    """Return an entry of a node's attributes."""
    value = bytes([field << 3, number])
    entry = bytes([10, len(name)]) + name.encode() + bytes([18, len(value)]) + value
    return bytes([42, len(entry)]) + entry


def options(name: str, dtype: int = _FLOAT, *others: bytes) -> dict[str, Any]:
    node = bytes([10, len(name)]) + name.encode() + attribute("element_dtype", 6, dtype)
    return {"values": [name, b"".join([node, *others])]}


def put(writer: ModelWriter, name: str, operands: list[int], *result: Any, **more: Any) -> int:
    """Add an operator on lists; a result without a shape is a list."""
    shape, dtype = result or ((), "variant")
    made = writer.tensor(name, shape, dtype)
    name = f"TensorList{name}"
    more = more or options(name)
    writer.operator(f"CUSTOM:Flex{name}", operands, [made], **more)
    return made


def number(writer: ModelWriter, value: Any) -> int:
    array = np.array(value, np.int32)
    return writer.tensor("number", array.shape, "int32", None, array)


def sums(steps: int, elements: Any = (-1, 3), place: str = "i") -> bytes:
    """Return a loop that lists the sums of rows up to each."""
    writer = ModelWriter()
    x = writer.tensor("x", (steps, 1, 3), "float32")
    made = put(writer, "Reserve", [number(writer, elements), number(writer, steps)])
    zero = writer.tensor("zero", (1, 3), "float32", None, np.zeros((1, 3), np.float32))
    state = writer.tensor("state", (1, 3), "float32")
    axis = number(writer, 0)
    total = writer.tensor("total", (1, 3), "float32")
    writer.operator("SUM", [x, axis], [total], keep_dims=False)
    writer.operator("MUL", [total, zero], [state])
    begin = [number(writer, 0), made, state, x]
    kinds: list[Any] = [("i", (), "int32"), ("list", (), "variant")]
    kinds += [("state", (1, 3), "float32"), ("data", (steps, 1, 3), "float32")]
    ends = [writer.tensor(f"last_{name}", *kind) for name, *kind in kinds]
    writer.operator("WHILE", begin, ends, cond_subgraph_index=1, body_subgraph_index=2)
    graph = writer.subgraph()
    places = [graph.tensor(*kind) for kind in kinds]
    more = graph.tensor("more", (), "bool")
    graph.operator("LESS", [places[0], number(graph, steps)], [more])
    graph.end(places, [more])
    graph = writer.subgraph()
    places = [graph.tensor(*kind) for kind in kinds]
    row, new = (graph.tensor(name, (1, 3), "float32") for name in ("row", "new"))
    following = graph.tensor("following", (), "int32")
    graph.operator("GATHER", [places[3], places[0]], [row], axis=0)
    graph.operator("ADD", [places[2], row], [new])
    graph.operator("ADD", [places[0], number(graph, 1)], [following])
    at = places[0] if place == "i" else number(graph, int(place))
    items = put(graph, "SetItem", [places[1], at, new])
    graph.end(places, [following, items, new, places[3]])
    shape = (steps, 1, 3)
    return writer.finish(
        [x], [put(writer, "Stack", [ends[1], number(writer, -1)], shape, "float32")]
    )


@pytest.mark.parametrize(
    ("steps", "batch", "elements"), [(4, 2, -1), (40, 2, (-1, 3)), (40, 1, (1, 3)), (40, 2, -1)]
)
def test_a_loop_sets_the_elements_of_a_list(steps: int, batch: int, elements: Any) -> None:
    mod, params = from_tflite(sums(steps, elements), {"x": (steps, batch, 3)})
    assert ("R.qnn.loop(" in mod.script()) == (steps > 4)
    x = np.random.default_rng(0).integers(-9, 9, (steps, batch, 3)).astype(np.float32)
    np.testing.assert_array_equal(build(mod, "llvm", params).run(x), np.cumsum(x, 0))


def test_elements_that_nobody_sets_or_others() -> None:
    mod, params = from_tflite(sums(40, place="2"))
    x = np.arange(120, dtype=np.float32).reshape(40, 1, 3)
    expected = np.zeros_like(x)
    expected[2] = x.sum(0)
    np.testing.assert_array_equal(build(mod, "llvm", params).run(x), expected)
    mod, params = from_tflite(reserved(2, place=1))
    x = np.ones((2, 3), np.float32)
    result = build(mod, "llvm", params).run(x, np.array(0, np.int32))
    np.testing.assert_array_equal(result, [0 * x, x])


def listed(place: Any = (2, 0)) -> bytes:
    """Return a list made of a tensor, some of its elements, the one at an index, and its length."""
    writer = ModelWriter()
    x, at = writer.tensor("x", (4, 3), "int32"), writer.tensor("at", (), "int32")
    shape = number(writer, (3,))
    items = put(writer, "FromTensor", [x, shape], **options("TensorListFromTensor", _INT32))
    some = put(writer, "Gather", [items, number(writer, place), shape], (2, 3), "int32")
    one = put(writer, "GetItem", [items, at, shape], (3,), "int32")
    length = put(writer, "Length", [items], (), "int32")
    whole = put(writer, "SetItem", [items, at, one])
    count = attribute("num_elements", 3, 4)
    more = options("TensorListStack", _INT32, count)
    return writer.finish(
        [x, at], [some, one, length, put(writer, "Stack", [whole, shape], (4, 3), "int32", **more)]
    )


def test_elements_of_a_list() -> None:
    mod, params = from_tflite(listed())
    x = np.arange(12, dtype=np.int32).reshape(4, 3)
    some, one, length, whole = build(mod, "llvm", params).run(x, np.array(1, np.int32)).values()
    np.testing.assert_array_equal(some, x[[2, 0]])
    np.testing.assert_array_equal(one, x[1])
    np.testing.assert_array_equal(whole, x)
    assert length == 4


def reserved(steps: Any, dtype: int = _FLOAT, place: int = 0, grows: int = 0) -> bytes:
    """Return a list of one element that is set without a loop."""
    writer = ModelWriter()
    x = writer.tensor("x", (2, 3), "float32")
    at = writer.tensor("at", (), "int32")
    count = at if steps is None else number(writer, steps)
    shape = number(writer, (-1, 3))
    items = put(writer, "Reserve", [shape, count], **options("TensorListReserve", dtype))
    flag = attribute("resize_if_index_out_of_bounds", 5, grows)
    place = at if grows else number(writer, place)
    items = put(writer, "SetItem", [items, place, x], **options("TensorListSetItem", dtype, flag))
    return writer.finish([x, at], [put(writer, "Stack", [items, shape], (2, 2, 3), "float32")])


test_lists_that_are_refused = failing(
    from_tflite,
    (listed(place=(4, 0)), "has indices outside of"),
    (reserved(2, place=2), "has indices outside of"),
    (reserved(2, grows=1), "a list that grows"),
    (reserved(0), "a list of shape"),
    (reserved(None), "a length that depends on the data"),
    (reserved(2, _INT32), "a float32 in a list of int32"),
    (reserved(2, 23), "a list of elements of another type"),
)


def test_damaged_nodes() -> None:
    model, rng = bytearray(reserved(2)), np.random.default_rng(1)
    place = model.index(b"TensorListReserve\x00")
    for _ in range(100):
        damaged = bytearray(model)
        for where in rng.integers(place, place + 90, 3):
            damaged[where] = rng.integers(256)
        try:
            from_tflite(bytes(damaged))
        except QnnError:
            continue
    broken = model.replace(b"element_dtype", b"\xff" * 13)
    check_refused(bytes(broken), "no node of TensorFlow", ModelFormatError)
