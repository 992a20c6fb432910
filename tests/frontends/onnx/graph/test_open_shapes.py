"""Models whose sizes stay open, against ONNX Runtime and against builds for one size."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from benchmarks.transformer import TINY, dynamic, network
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.errors import fails
from tests.support.onnx_graphs import Array, Net, Node, on_runtime, one, onnx
from tests.support.onnx_networks import NETWORKS, Style
from tests.support.onnx_recurrent import recurrent

RNG = np.random.default_rng(4)
CONSTANTS: dict[str, Any] = {
    **{f"i{number}": np.array(number) for number in (0, 1, 2)},
    **{f"v{number}": np.array([number]) for number in (-1, 0, 1, 2, 4)},
    "ones": np.array([1, 1, 1]),
    "pair": np.array([0, 2]),
    "few": np.array([0, 3, 0]),
    "huge": np.array(10**6),
    "long": np.array([2**31 - 1]),
    "half": np.float32(0.5),
    "table": RNG.normal(size=(16, 8)).astype(np.float32),
    "weights": RNG.normal(size=(8, 8)).astype(np.float32),
}
SIZES: list[Node] = [
    ("Shape", "x", "shape"),
    ("Gather", "shape i0", "batch"),
    ("Gather", "shape i1", "length"),
    ("Unsqueeze", "batch v0", "batches"),
    ("Unsqueeze", "length v0", "lengths"),
]
CASES: dict[str, list[Node]] = {
    "heads": [
        ("Concat", "batches lengths v2 v4", "wide", {"axis": 0}),
        ("Reshape", "x wide", "a"),
        ("Transpose", "a", "b", {"perm": [0, 2, 1, 3]}),
        ("Softmax", "b", "c", {"axis": 2}),
        ("Transpose", "c", "d", {"perm": [0, 2, 1, 3]}),
        ("Concat", "batches lengths v-1", "whole", {"axis": 0}),
        ("Reshape", "d whole", "y"),
    ],
    "rows": [
        ("Mul", "batches lengths", "count"),
        ("Concat", "count v-1", "rows", {"axis": 0}),
        ("Reshape", "x rows", "a"),
        ("Gemm", "a weights", "b"),
        ("Reshape", "b shape", "y"),
    ],
    "positions": [
        ("Range", "i0 length i1", "numbers"),
        ("Cast", "numbers", "a", {"to": 1}),
        ("Unsqueeze", "a v1", "b"),
        ("Add", "x b", "y"),
    ],
    "a part of a table": [("Slice", "table v0 lengths v0", "part"), ("Add", "x part", "y")],
    "filled, and expanded": [
        ("ConstantOfShape", "shape", "zeros"),
        ("Equal", "shape shape", "same"),
        ("Where", "same shape ones", "wanted"),
        ("Expand", "half wanted", "halves"),
        ("Add", "zeros halves", "a"),
        ("Sub", "x a", "y"),
    ],
    "slices that end at the end": [
        ("Slice", "x v0 long v1", "a"),
        ("Slice", "a v-1 long v1", "last"),
        ("Mul", "a last", "y"),
    ],
    "a last row": [("Gather", "x v-1", "a", {"axis": 1}), ("Mul", "x a", "y")],
    "twice as long": [
        ("Concat", "x x", "a", {"axis": 1}),
        ("Flatten", "a", "b", {"axis": 2}),
        ("Relu", "b", "y"),
    ],
    "a size as a number": [("Cast", "length", "a", {"to": 1}), ("Div", "x a", "y")],
    "a number that sizes choose": [
        ("Equal", "length length", "same"),
        ("Where", "same half half", "a"),
        ("Add", "x a", "y"),
    ],
    "a truth value as a number": [
        ("Equal", "shape shape", "same"),
        ("Cast", "same", "counted", {"to": 7}),
        ("Max", "counted few", "numbers"),
        ("ReduceSum", "numbers", "total", {"keepdims": 0}),
        ("Cast", "total", "a", {"to": 1}),
        ("Mul", "x a", "y"),
    ],
    "the largest along an open axis": [
        ("ReduceMax", "x", "most", {"axes": [1]}),
        ("ArgMax", "x", "place", {"axis": 1}),
        ("Cast", "place", "a", {"to": 1}),
        ("Mul", "most a", "b"),
        ("Sub", "x b", "y"),
    ],
    "sizes as a result": [("Identity", "shape", "y")],
}


def model_of(nodes: list[Node]) -> Any:
    """Return a model of x, whose batch and length are open."""
    x = np.zeros((1, 1, 8), np.float32)
    model = Net([*SIZES, *nodes], {"x": x}, CONSTANTS, [nodes[-1][2]]).model
    given = onnx.helper.make_tensor_value_info("x", 1, ["N", "seq.length", 8])
    model.graph.input[0].CopyFrom(given)
    return model


@pytest.mark.parametrize("case", CASES)
def test_shapes_follow_from_open_sizes(case: str) -> None:
    model = model_of(CASES[case])
    mod, params = from_onnx(model, {"x": ("batch", range(1, 17), 8)})
    library = qnn.build(mod, "host", params)
    assert [str(size) for size in library.inputs[0].shape] == ["batch", "seq_length", "8"]
    for batch, length in ((1, 1), (3, 5), (2, 16)):
        data = np.random.default_rng(length).normal(size=(batch, length, 8)).astype(np.float32)
        (wanted,) = on_runtime(model, {"x": data})
        found = library.run(data)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_a_range_that_is_too_long_is_refused() -> None:
    nodes: list[Node] = [
        ("Mul", "batch huge", "last"),
        ("Range", "i0 last i1", "numbers"),
        ("ReduceMax", "numbers", "highest", {"keepdims": 0}),
        ("Cast", "highest", "a", {"to": 1}),
        ("Mul", "x a", "y"),
    ]
    shapes = {"x": (1000, range(1, 17), 8)}
    fails("operator .* Range: .* bytes", from_onnx, model_of(nodes), shapes)


def sentences(batch: int, length: int) -> dict[str, Array]:
    rng = np.random.default_rng(batch)
    ends = rng.integers(1, length + 1, (batch, 1))
    tokens = rng.integers(0, TINY.words, (batch, length))
    return {"tokens": tokens, "mask": (np.arange(length)[None] < ends).astype(np.int64)}


def test_an_encoder_of_any_batch_and_length() -> None:
    model = dynamic(network(TINY, of_any_length=True))
    mod, params = from_onnx(model, {"batch": range(1, 9), "length": range(1, TINY.tokens + 1)})
    library = qnn.build(mod, "host", params)
    for batch, length in ((1, 1), (2, 7), (5, TINY.tokens)):
        data = sentences(batch, length)
        found = library.run(data)
        np.testing.assert_allclose(found, on_runtime(model, data)[0], atol=0.02)
        if batch == 2:
            fixed, params = from_onnx(model, {"tokens": (batch, length)})
            np.testing.assert_array_equal(found, qnn.build(fixed, "host", params).run(data))


def test_a_convolutional_network_of_any_batch() -> None:
    model = NETWORKS["resnet"](Style("uint8", "int8", per_channel=True, qdq=True))
    del model.graph.value_info[:]
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    mod, params = from_onnx(model, {"batch": range(1, 17)})
    library = qnn.build(mod, "host", params)
    for batch in (1, 3):
        data = np.random.default_rng(batch).normal(size=(batch, 3, 20, 20)).astype(np.float32)
        np.testing.assert_array_equal(library.run(data), on_runtime(model, {"x": data})[0])


def shapes_of(shape_dict: dict[str, Any]) -> list[str]:
    mod, _ = from_onnx(dynamic(network(TINY, of_any_length=True)), shape_dict)
    return [str(parameter.ty.shape)[len("R.shape(") : -1] for parameter in mod["main"].params]


def test_a_size_of_the_file_follows_in_other_inputs() -> None:
    assert shapes_of({"tokens": ("rows", 7)}) == ["[rows, 7]"] * 2
    assert shapes_of({"batch": 3, "length": range(1, 9)}) == ["[3, length]"] * 2
    assert shapes_of({"tokens": (2, 7)}) == ["[2, 7]"] * 2
    assert shapes_of({"mask": ("rows", range(1, 9))}) == ["[rows, length]"] * 2


def test_what_is_refused() -> None:
    model = model_of(CASES["a part of a table"])
    fails("no input is named 'y'; there are 'x'", from_onnx, model, {"y": ("batch", 3, 8)})
    fails("input 'x' has 3 dimensions", from_onnx, model, {"x": ("batch", 8)})
    with pytest.raises(UnsupportedOperatorError, match="Slice: the size length is open, where it"):
        from_onnx(model, {"x": ("batch", "length", 8)})
    fails("input 'x' needs a static shape, got", from_onnx, model, {"N": range(1, 9)})


IMAGE = RNG.normal(size=(1, 2, 8, 8)).astype(np.float32)


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (one("ReverseSequence", IMAGE[0], np.array([2] * 8)), ("n", 8, 8)),
        (recurrent("GRU", lengths=(5, 3, 2)), ("n", 3, 9)),
        (one("RoiAlign", IMAGE, [[0.0, 0, 4, 4]], [0], sampling_ratio=2), (1, 2, "n", 8)),
    ],
    ids=["ReverseSequence", "GRU", "RoiAlign"],
)
def test_an_open_size_where_a_number_is_needed(net: Net, shape: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match="the size n is open, where a number is"):
        from_onnx(net.model, {next(iter(net.data)): shape})


def test_a_range_that_the_data_ends_is_refused() -> None:
    nodes: list[Node] = [
        ("ReduceMax", "x", "most", {"keepdims": 0}),
        ("Cast", "most", "end", {"to": 7}),
        ("Range", "i0 end i1", "numbers"),
        ("Cast", "numbers", "y", {"to": 1}),
    ]
    with pytest.raises(UnsupportedOperatorError, match="Range: how many numbers it has depends on"):
        from_onnx(model_of(nodes), {"x": ("batch", range(1, 17), 8)})
