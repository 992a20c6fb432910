"""Pasts that grow from nothing, in one build of a decoder, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from tests.support.decoders import OnRuntime, grouped, plain
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, onnxruntime, pair
from tvm_qnn import build, from_onnx

pytestmark = pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning")

RANGES = {"past": range(40), "tokens": range(1, 30)}


def as_a_sum(model: Any) -> Any:
    """Return the model with the size that Optimum writes for all tokens."""
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "total":
                dim.dim_param = "past + tokens"
    return model


@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        (as_a_sum(plain()), {"batch": 1, **RANGES}),
        (plain(), {"attention_mask": (1, "past + tokens"), "batch": 1, **RANGES}),
        (grouped(), {"attention_mask": (1, "past + tokens"), "batch": 1, **RANGES}),
    ],
    ids=["of the file", "given", "of grouped queries"],
)
def test_a_past_grows_from_nothing(model: Any, shapes: Any) -> None:
    runtime = OnRuntime(model)
    past = dict(runtime.past)
    library = qnn.build(*_imported(model, shapes))
    assert [str(each.shape) for each in library.inputs][1] == "(1, past + tokens)"
    begin, names = 0, {each.name for each in library.inputs}
    for count in (3, 1, 1, 20, 2):
        ids = np.random.default_rng(begin).integers(0, 64, count)
        end = begin + count
        given = {
            "input_ids": ids[None],
            "attention_mask": np.ones((1, end), np.int64),
            "position_ids": np.arange(begin, end)[None],
        }
        given = {name: array for name, array in given.items() if name in names}
        scores, *presents = library.run({**given, **past}).values()
        # Sums of floats have another order.
        np.testing.assert_allclose(scores[0], runtime.step(ids.tolist()), atol=1e-4)
        for present, expected in zip(presents, runtime.past.values(), strict=True):
            np.testing.assert_allclose(present, expected, atol=1e-5)
        past, begin = dict(zip(past, presents, strict=True)), end


def test_a_first_text_of_grouped_queries_may_be_shorter_than_its_tokens() -> None:
    model = grouped()
    shapes = {"attention_mask": (1, "past + tokens"), "batch": 1, **RANGES}
    library = qnn.build(*_imported(model, shapes))
    given = dict(OnRuntime(model).past)
    given |= {"input_ids": np.array([[5, 6, 7, 0]]), "attention_mask": np.array([[1, 1, 1, 0]])}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for found, expected in zip(library.run(given).values(), session.run(None, given), strict=True):
        axis = found.shape.index(4)
        known, wanted = (np.take(each, range(3), axis) for each in (found, expected))
        np.testing.assert_allclose(known, wanted, atol=1e-4)


def test_an_empty_past_is_a_number_for_its_name() -> None:
    model, ids = plain(), np.array([[5, 6, 7]])
    library = qnn.build(*_imported(model, {"batch": 1, "past": 0, "tokens": 3, "total": 3}))
    given = {info.name: np.zeros(info.shape, np.float32) for info in library.inputs[3:]}
    given |= {"input_ids": ids, "attention_mask": ids * 0 + 1, "position_ids": ids - 5}
    assert given["past_key_values.0.key"].shape == (1, 2, 0, 16)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for found, expected in zip(library.run(given).values(), session.run(None, given), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)


def _imported(model: Any, shapes: Any) -> Any:
    mod, params = qnn.from_onnx(model, shapes)
    return mod, "host", params


SCALE, POINT = np.float32(0.05), np.int8(3)
WEIGHTS = np.arange(-64, 64, dtype=np.int8).reshape(8, 16)
PAIR: list[Node] = [
    ("QuantizeLinear", "x scale point", "q"),
    ("DequantizeLinear", "q scale point", "pair"),
]
DYNAMIC: list[Node] = [
    ("DynamicQuantizeLinear", "x", "q data_scale data_point"),
    ("MatMulInteger", "q weights data_point", "sums"),
    ("Cast", "sums", "floats", {"to": 1}),
    ("Mul", "floats data_scale", "y"),
]
CONSTANTS = {
    "scale": SCALE,
    "point": POINT,
    "weights": WEIGHTS,
    "kernel": np.arange(-54, 54, dtype=np.int8).reshape(4, 3, 3, 3),
    "axis": np.array([0]),
    "last": np.array([-1]),
}

CASES: dict[str, tuple[list[Node], dict[str, tuple[int, ...]]]] = {
    "product": (DYNAMIC, {"x": (0, 8)}),
    "product of some rows": (DYNAMIC, {"x": (3, 8)}),
    "past": (
        [*PAIR, ("Concat", "pair new", "y", {"axis": 2})],
        {"x": (1, 2, 0, 8), "new": (1, 2, 1, 8)},
    ),
    "sum": ([*PAIR, ("ReduceSum", "pair axis", "y", {"keepdims": 0})], {"x": (0, 8)}),
    "convolution": (
        [
            *PAIR,
            ("DequantizeLinear", "kernel scale", "weights_of_it"),
            ("Conv", "pair weights_of_it", "sums"),
            *pair("sums scale point", "y"),
        ],
        {"x": (0, 3, 8, 8)},
    ),
    **{
        op: (
            [
                ("Slice", "x axis axis last", "none"),
                (op, "none", "rows"),
                ("Concat", "rows x", "y", {"axis": 1}),
            ],
            {"x": (3, 8)},
        )
        for op in ("Softmax", "LogSoftmax")
    },
}


def opened(nodes: list[Node], shapes: dict[str, tuple[int, ...]]) -> Any:
    """Return a model whose inputs have open sizes."""
    data = {
        name: np.zeros([max(size, 1) for size in shape], np.float32)
        for name, shape in shapes.items()
    }
    used = {name for _, operands, *_ in nodes for name in operands.split()}
    constants = {name: value for name, value in CONSTANTS.items() if name in used}
    model = Net(nodes, data, constants).model
    for value in model.graph.input:
        for number, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}_{number}"
    return model


@pytest.mark.parametrize("case", CASES)
def test_a_tensor_may_have_no_elements(case: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    nodes, shapes = CASES[case]
    model = opened(nodes, shapes)
    mod, params = from_onnx(model, shape_dict=shapes)
    rng = np.random.default_rng(0)
    data = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    (wanted,) = runtime.InferenceSession(model.SerializeToString()).run(None, data)
    found = build(mod, params=params).run(*data.values())
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_a_file_s_own_0_is_an_open_size() -> None:
    nodes, shapes = CASES["sum"]
    model = opened(nodes, shapes)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 0
    fails("input 'x' needs a static shape, got", from_onnx, model)
