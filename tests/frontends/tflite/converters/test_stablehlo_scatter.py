"""STABLEHLO_SCATTER."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tvm_qnn.compare import compare

Array = np.ndarray[Any, Any]
Q = Quantization.per_tensor(0.5, 3)
ROWS: dict[str, Any] = {
    "update_window_dims": [1],
    "inserted_window_dims": [0],
    "scatter_dims_to_operand_dims": [0],
    "index_vector_dim": 1,
}
WINDOWS: dict[str, Any] = {
    "update_window_dims": [0, 2],
    "inserted_window_dims": [],
    "scatter_dims_to_operand_dims": [1, 0],
    "index_vector_dim": 0,
}
ONES: dict[str, Any] = {
    "update_window_dims": [],
    "inserted_window_dims": [0, 1],
    "scatter_dims_to_operand_dims": [0, 1],
    "index_vector_dim": 2,
}
# Some places are named twice, and some lie outside, as a whole or in part.
CASES = [
    (ROWS, [[3], [0], [9], [0]], (4, 5)),
    (WINDOWS, [[0, 2, 7, 1], [1, 3, 0, 1]], (2, 4, 3)),
    (ONES, [[[3, 4], [0, 0]], [[0, 0], [8, 2]]], (2, 2)),
]
CODES = ("", *(f"STABLEHLO_{name}" for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")))


def scattered(
    data: Array,
    updates: Array,
    places: Array,
    codes: tuple[str, ...] = ("",),
    *,
    is_constant: bool = False,
    encoding: Quantization | None = None,
    **options: Any,
) -> bytes:
    """Return a model that puts updates once for each code; an empty one has no operator."""
    writer, dtype = ModelWriter(), data.dtype.name
    x = writer.tensor("x", data.shape, dtype, encoding)
    u = writer.tensor("u", updates.shape, dtype, encoding)
    kind = places.dtype.name
    i = writer.tensor("i", places.shape, kind, None, places if is_constant else None)
    results = []
    for code in codes:
        inner = writer.subgraph()
        a, b, c = (inner.tensor(name, (), dtype, encoding) for name in "abc")
        if code:
            inner.operator(code, [a, b], [c])
        inner.end([a, b], [c if code else b])
        results.append(writer.tensor(f"y{code}", data.shape, dtype, encoding))
        number = {"update_computation_subgraph_index": writer.subgraphs, **options}
        writer.operator("STABLEHLO_SCATTER", [x, i, u], results[-1:], **number)
    return writer.finish([x, u] if is_constant else [x, u, i], results)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32"])
def test_slices_equal_litert_s(dtype: str) -> None:
    rng = np.random.default_rng(1)

    def numbers(shape: tuple[int, ...]) -> Array:
        if dtype == "int64":
            return rng.integers(-99, 99, shape)
        if dtype == "float32":
            odd = rng.random(shape) < 0.1
            return np.where(odd, np.nan, rng.normal(0, 1, shape)).astype(np.float32)
        return full_range(rng, dtype, shape)

    encoding = Q if dtype in ("int8", "uint8") else None
    for case, (options, places, shape) in enumerate(CASES):
        data, updates, is_constant = numbers((4, 5)), numbers(shape), case == 1
        where = np.array(places, "int64" if case == 2 else "int32")
        given = {"is_constant": is_constant, "encoding": encoding, **options}
        model = scattered(data, updates, where, CODES, **given)
        arrays = [data, updates] if is_constant else [data, updates, where]
        assert compare(model, arrays, target="llvm", kernels=False).differing == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"update_window_dims": [2]}, "update_window_dims must be axes of 2, each once"),
        ({"update_window_dims": [1, 0]}, "update_window_dims must be axes of 2, each once"),
        ({"update_window_dims": []}, r"updates of \(2, 5\) at places of \(2, 1\) in \(4, 5\)"),
        ({"update_window_dims": [0]}, r"updates of \(2, 5\) at places of \(2, 1\) in \(4, 5\)"),
        ({"inserted_window_dims": [-1]}, "inserted_window_dims must be axes of 2, each once"),
        ({"scatter_dims_to_operand_dims": [2**40]}, "scatter_dims_to_operand_dims must be axes"),
        ({"scatter_dims_to_operand_dims": [0, 1]}, "index_vector_dim 1, for 2 numbers, of places"),
        ({"index_vector_dim": 7}, "index_vector_dim 7, for 1 numbers, of places of"),
        ({"update_computation_subgraph_index": 9}, "runs subgraph 9, there are 1 others"),
        ({"update_computation_subgraph_index": -1}, "runs subgraph -1, there are 1 others"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    data, updates = np.zeros((4, 5), np.int8), np.zeros((2, 5), np.int8)
    model = scattered(data, updates, np.array([[3], [0]], np.int32), **{**ROWS, **options})
    with pytest.raises(QnnError, match=message):
        from_tflite(model)


def test_data_of_too_many_places() -> None:
    data = np.broadcast_to(np.int8(0), (1 << 30, 5))
    model = scattered(data, np.zeros((2, 5), np.int8), np.array([[3], [0]], np.int32), **ROWS)
    with pytest.raises(QnnError, match="a tensor has 5,368,709,120 elements"):
        from_tflite(model)


def test_one_operator_of_a_few_combines() -> None:
    data, updates = np.zeros((4, 5), np.int8), np.zeros((2, 5), np.int8)
    places = np.array([[3], [0]], np.int32)
    with pytest.raises(QnnError, match="combines numbers by BITWISE_XOR"):
        from_tflite(scattered(data, updates, places, ("BITWISE_XOR",), **ROWS))


def test_constant_places_are_not_below_0() -> None:
    data, updates = np.zeros((4, 5), np.int8), np.zeros((2, 5), np.int8)
    places = np.array([[3], [-1]], np.int32)
    with pytest.raises(QnnError, match="has places below 0"):
        from_tflite(scattered(data, updates, places, is_constant=True, **ROWS))


@pytest.mark.parametrize(
    ("dtypes", "kind", "message"),
    [
        (("bool", "bool"), "int32", "bool in bool"),
        (("int8", "uint8"), "int32", "uint8 in int8"),
        (("int8", "int8"), "int16", "places of int16"),
    ],
)
def test_types_that_litert_lacks(dtypes: tuple[str, str], kind: str, message: str) -> None:
    data, updates = np.zeros((4, 5), dtypes[0]), np.zeros((2, 5), dtypes[1])
    model = bytearray(scattered(data, data[:2], np.zeros((2, 1), kind), **ROWS))
    if dtypes[0] != dtypes[1]:
        model = bytearray(_of_two_types(data, updates))
    with pytest.raises(QnnError, match=message):
        from_tflite(bytes(model))


def _of_two_types(data: Array, updates: Array) -> bytes:
    writer = ModelWriter()
    x, u = (writer.tensor("x", each.shape, each.dtype.name) for each in (data, updates))
    i, y = writer.tensor("i", (2, 1), "int32"), writer.tensor("y", data.shape, "int8")
    inner = writer.subgraph()
    a, b = (inner.tensor(name, (), "int8") for name in "ab")
    inner.end([a, b], [b])
    writer.operator(
        "STABLEHLO_SCATTER", [x, i, u], [y], update_computation_subgraph_index=1, **ROWS
    )
    return writer.finish([x, u, i], [y])
