"""Tensors that are quantized twice in a row, and groups that stay float, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tvm_qnn.oracle import onnxruntime_tensors

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

RNG = np.random.default_rng(11)


def model_of(encodings: list[tuple[Any, Any, str]]) -> Any:
    """Return a model that quantizes a tensor by each, and dequantizes it again."""
    helper = onnx.helper
    nodes, constants, name = [], [], "x"
    for number, (scale, point, dtype) in enumerate(encodings):
        names = [f"s{number}", f"z{number}"]
        arrays = (np.asarray(scale, np.float32), np.asarray(point).astype(dtype))
        for array, key in zip(arrays, names, strict=True):
            constants.append(onnx.numpy_helper.from_array(array, key))
        axis = {"axis": 0} if np.ndim(scale) else {}
        nodes.append(helper.make_node("QuantizeLinear", [name, *names], [f"q{number}"], **axis))
        name = f"d{number}"
        nodes.append(helper.make_node("DequantizeLinear", [f"q{number}", *names], [name], **axis))
    values = [
        helper.make_tensor_value_info(key, onnx.TensorProto.FLOAT, (512,)) for key in ("x", name)
    ]
    graph = helper.make_graph(nodes, "pairs", values[:1], values[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def by_onnxruntime(model: Any, data: Any) -> Any:
    """Run it; the oracle's further outputs would keep the pairs apart."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": data})[0]


@pytest.mark.parametrize("pairs", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_pairs_in_a_row_are_one(dtype: str, pairs: int) -> None:
    low = np.iinfo(dtype).min
    data = RNG.normal(0, 4, 512).astype(np.float32)
    for _ in range(4):
        scales, points = RNG.uniform(0.01, 0.06, pairs), RNG.integers(20, 236, pairs)
        encodings = [
            (float(scale), int(low + point), dtype)
            for scale, point in zip(scales, points, strict=True)
        ]
        model = model_of(encodings)
        mod, params = from_onnx(model)
        result = qnn.build(mod, "host", params).run(data)
        np.testing.assert_array_equal(result, by_onnxruntime(model, data))


@pytest.mark.parametrize("others", [0, 1])
def test_so_they_are_where_the_second_is_read_twice(others: int) -> None:
    model = model_of([(0.05, 100, "uint8"), (0.04, 90, "uint8")])
    nodes, names = model.graph.node, [["q1", "s1", "z1"], ["q0", "s0", "z0"]][others]
    nodes.append(onnx.helper.make_node("DequantizeLinear", names, ["again"]))
    nodes.append(onnx.helper.make_node("Add", ["d1", "again"], ["sum"]))
    model.graph.output[0].name = "sum"
    data = RNG.normal(0, 4, 512).astype(np.float32)
    mod, params = from_onnx(model)
    result = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(result, by_onnxruntime(model, data))


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


@pytest.mark.parametrize("case", OTHERS)
def test_other_pairs_stay_two(case: str) -> None:
    model = model_of(OTHERS[case])
    data = RNG.normal(0, 4, 512).astype(np.float32)
    mod, params = from_onnx(model)
    result = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(result, by_onnxruntime(model, data))


def test_an_axis_of_one_scale_means_nothing() -> None:
    model = model_of([(0.05, 100, "uint8"), (0.04, 90, "uint8")])
    for node in model.graph.node:
        node.attribute.append(onnx.helper.make_attribute("axis", 0))
    data = RNG.normal(0, 4, 512).astype(np.float32)
    mod, params = from_onnx(model)
    result = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(result, by_onnxruntime(model, data))


def test_ranges_without_a_common_part_are_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="QuantizeLinear: its tensor was quantized"):
        from_onnx(model_of([(0.1, 127, "int8"), (0.2, -128, "int8")]))


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_pair_that_gives_back_its_bytes_ends_a_row(is_inside: bool) -> None:
    data = RNG.integers(0, 256, 512).astype(np.uint8)
    narrow, wide = (0.06, 255, "uint8"), (0.11, 178, "uint8")
    first, second = (narrow, wide) if is_inside else (wide, narrow)
    model = model_of([first, first, second, (0.125, 247, "uint8")])
    del model.graph.node[0]
    model.graph.node[0].input[0] = "x"
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    mod, params = from_onnx(model)
    found = qnn.build(mod, "llvm", params).run(data)
    np.testing.assert_array_equal(found, by_onnxruntime(model, data))


def test_kept_tensors_stay_apart() -> None:
    model = model_of([(0.05, 100, "uint8"), (0.04, 90, "uint8")])
    data = RNG.normal(0, 4, 512).astype(np.float32)
    mod, params = from_onnx(model, outputs="all")
    results = qnn.build(mod, "host", params).run(data)
    for name, array in onnxruntime_tensors(model, [data]).items():
        np.testing.assert_array_equal(results[name], array, err_msg=name)
