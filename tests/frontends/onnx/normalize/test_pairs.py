"""Tensors that are quantized twice in a row, and groups that stay float, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Array, Net, Node, equal, node_of, onnx, pair, refused
from tvm_qnn.oracle import onnxruntime_tensors

RNG = np.random.default_rng(11)


DATA = RNG.normal(0, 4, 512).astype(np.float32)


def pairs_of(encodings: list[tuple[Any, Any, str]], data: Array = DATA) -> Net:
    """Return a model that quantizes a tensor by each, and dequantizes it again."""
    nodes: list[Node] = []
    constants: dict[str, Any] = {}
    for number, (scale, point, dtype) in enumerate(encodings):
        constants[f"s{number}"] = np.asarray(scale, np.float32)
        constants[f"z{number}"] = np.asarray(point).astype(dtype)
        axis = {"axis": 0} if np.ndim(scale) else {}
        source = f"d{number - 1}" if number else "x"
        nodes += pair(f"{source} s{number} z{number}", f"d{number}", **axis)
    return Net(nodes, {"x": data}, constants, opset=21)


@pytest.mark.parametrize("pairs", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_pairs_in_a_row_are_one(dtype: str, pairs: int) -> None:
    low = np.iinfo(dtype).min
    for _ in range(4):
        scales, points = RNG.uniform(0.01, 0.06, pairs), RNG.integers(20, 236, pairs)
        encodings = [
            (float(scale), int(low + point), dtype)
            for scale, point in zip(scales, points, strict=True)
        ]
        pairs_of(encodings).check()


@pytest.mark.parametrize("others", [0, 1])
def test_so_they_are_where_the_second_is_read_twice(others: int) -> None:
    net = pairs_of([(0.05, 100, "uint8"), (0.04, 90, "uint8")])
    operands = ("d1_integers s1 z1", "d0_integers s0 z0")[others]
    net.model.graph.node.append(node_of("DequantizeLinear", operands, "again"))
    net.model.graph.node.append(node_of("Add", "d1 again", "sum"))
    net.model.graph.output[0].name = "sum"
    net.check()


WORD = (0.0002, 30000, "uint16")
BYTES = (0.04, 90, "uint8"), (0.03, 7, "int8")
OTHERS: dict[str, list[tuple[Any, Any, str]]] = {
    "a word and a byte": [WORD, BYTES[0]],
    "a byte and a word": [BYTES[1], WORD],
    "two words": [WORD, (0.0001, 5, "int16")],
    "two bytes": [*BYTES],
    "there and back": [*BYTES, (0.02, 99, "uint8")],
    "one joined pair": [*BYTES, (0.02, -9, "int8")],
    "columns": [(np.linspace(0.01, 0.05, 512), np.arange(512) % 9, "uint8"), BYTES[0]],
}


test_other_pairs_stay_two = equal(
    {name: pairs_of(case) for name, case in OTHERS.items()}, in_float=True
)


def test_an_axis_of_one_scale_means_nothing() -> None:
    net = pairs_of([(0.05, 100, "uint8"), (0.04, 90, "uint8")])
    for node in net.model.graph.node:
        node.attribute.append(onnx.helper.make_attribute("axis", 0))
    net.check()


test_ranges_without_a_common_part_are_refused = refused(
    (
        "QuantizeLinear: its tensor was quantized",
        pairs_of([(0.1, 127, "int8"), (0.2, -128, "int8")]),
    ),
    error=UnsupportedOperatorError,
)


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_pair_that_gives_back_its_bytes_ends_a_row(is_inside: bool) -> None:
    data = RNG.integers(0, 256, 512).astype(np.uint8)
    narrow, wide = (0.06, 255, "uint8"), (0.11, 178, "uint8")
    first, second = (narrow, wide) if is_inside else (wide, narrow)
    net = pairs_of([first, first, second, (0.125, 247, "uint8")], data)
    del net.model.graph.node[0]
    net.model.graph.node[0].input[0] = "x"
    net.check()


def test_kept_tensors_stay_apart() -> None:
    net = pairs_of([(0.05, 100, "uint8"), (0.04, 90, "uint8")])
    model = onnx.shape_inference.infer_shapes(net.model)
    mod, params = from_onnx(model, outputs="all")
    results = qnn.build(mod, "host", params).run(DATA)
    for name, array in onnxruntime_tensors(model, [DATA]).items():
        np.testing.assert_array_equal(results[name], array, err_msg=name)
