from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.onnx.attributes import attributes_of
from frontends.onnx.few_bits import with_real_few_bits
from tests.support.onnx_graphs import check_equal, model_of

onnx = pytest.importorskip("onnx", reason="onnx is not installed")


def constants(dtype: str, scale: Any, point: Any) -> dict[str, Any]:
    kind = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, dtype.upper()))
    array = np.arange(6).reshape(3, 2).astype(kind)
    points = np.asarray(point).astype(kind)
    return {"q": array, "s": np.asarray(scale, np.float32), "z": points}


CASES: dict[str, tuple[Any, Any, dict[str, int], Any]] = {
    "of all": (0.5, 2, {}, [[-1, -0.5], [0, 0.5], [1, 1.5]]),
    "of columns": ([1, 2], [0, 1], {"axis": -1}, [[0, 0], [2, 4], [4, 8]]),
    "of blocks": (
        *([[1, 1], [10, 10]], [[0, 0], [1, 1]], {"axis": 0, "block_size": 2}),
        [[0, 1], [2, 3], [30, 40]],
    ),
}


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("case", CASES)
def test_gives_real_numbers(case: str, dtype: str) -> None:
    scale, point, attributes, wanted = CASES[case]
    node = onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **attributes)
    nodes, added = with_real_few_bits([node], constants(dtype, scale, point), [], attributes_of)
    assert not nodes
    np.testing.assert_array_equal(added["y"], wanted)
    assert added["y"].dtype == np.float32


BLOCKS = {"axis": 1, "block_size": 16}
READERS: dict[str, list[Any]] = {
    "Gemm": [("Gemm", "x d", "y", {"transB": 1})],
    "Transpose": [("Transpose", "d", "t", {"perm": [1, 0]}), ("MatMul", "x t", "y", {})],
    "Gather": [("Gather", "d i", "y", {})],
    "Conv": [
        ("Reshape", "x shape", "image", {}),
        ("Reshape", "d shape", "window", {}),
        ("Conv", "image window", "y", {}),
    ],
    "several": [("Add", "d b", "t", {}), ("Mul", "t d", "y", {})],
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("case", READERS)
def test_blocks_of_bytes_beside_any_operator(case: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    known = {
        "q": rng.integers(0, 100, (8, 32)).astype(dtype),
        "s": np.exp2(rng.integers(-9, -6, (8, 2))).astype(np.float32),
        "z": rng.integers(0, 9, (8, 2)).astype(dtype),
        "b": np.float32(2.5),
        "i": np.array([1, 7]),
        "shape": np.array([-1, 32, 1, 1]),
    }
    nodes = [("DequantizeLinear", "q s z", "d", BLOCKS), *READERS[case]]
    # Numbers whose sums are the same in any order.
    data = {"x": rng.integers(-8, 8, (3, 32)).astype(np.float32)}
    check_equal(model_of(nodes, data, ["y"], known, opset=21), data)


@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_others_stay(dtype: str) -> None:
    node = onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])
    kept = ["y"] if dtype == "int4" else []
    nodes, added = with_real_few_bits([node], constants(dtype, 1, 0), kept, attributes_of)
    assert nodes == [node]
    assert not added


def test_scales_that_do_not_fit_stay() -> None:
    node = onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])
    known = constants("int4", [1, 2, 3], [0, 0, 0])
    assert with_real_few_bits([node], known, [], attributes_of) == ([node], {})
