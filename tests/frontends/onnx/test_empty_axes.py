from typing import Any

import numpy as np
import pytest

from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, pair
from tvm_qnn import build, from_onnx

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
