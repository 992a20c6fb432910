"""SVDF."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops import quantized_svdf, quantized_svdf_state
from qnn_ops.signature import signature_of
from tests.support.arrays import full_range
from tvm_qnn.compare import compare

Array = np.ndarray[Any, Any]

Q = Quantization.per_tensor
RELU: dict[str, Any] = {"fused_activation_function": "RELU"}


def svdf(
    batch: int, size: int, filters: int, steps: int, rank: int, has_bias: bool, state: str = "int16"
) -> bytes:
    rng = np.random.default_rng(filters)
    writer = ModelWriter()
    x = writer.tensor("x", (batch, size), "int8", Q(0.05, -3))
    arrays = {
        "features": full_range(rng, "int8", (filters, size)),
        "times": full_range(rng, state, (filters, steps)),
    }
    scale = 0.01 if state == "int8" else 1 / 4096
    weights = [
        writer.tensor(name, array.shape, array.dtype.name, Q(scale, 0), array)
        for name, array in arrays.items()
    ]
    bias, units = -1, filters // rank
    if has_bias:
        values = rng.integers(-(2**20), 2**20, units).astype(np.int32)
        bias = writer.tensor("bias", (units,), "int32", Q(0.01, 0), values)
    kept = writer.tensor(
        "memory",
        (batch, filters * steps),
        state,
        Q(0.5 if state == "int8" else 0.001, 5 if state == "int8" else 0),
        is_variable=True,
    )
    y = writer.tensor("y", (batch, units), "int8", Q(0.7, 9))
    writer.operator("SVDF", [x, *weights, bias, kept], [y], rank=rank, version=3, **RELU)
    return writer.finish([x], [y])


def stream(batch: int, size: int, runs: int) -> list[list[Array]]:
    rng = np.random.default_rng(3)
    return [[full_range(rng, "int8", (batch, size))] for _ in range(runs)]


@pytest.mark.parametrize(
    ("batch", "size", "filters", "steps", "rank", "has_bias"),
    [(1, 9, 6, 5, 2, True), (2, 3, 4, 1, 1, False), (3, 17, 6, 8, 3, True)],
)
def test_every_run_of_a_stream_equals_litert(
    batch: int, size: int, filters: int, steps: int, rank: int, has_bias: bool
) -> None:
    first, *then = stream(batch, size, 10)
    model = svdf(batch, size, filters, steps, rank, has_bias)
    comparison = compare(model, first, "llvm", then=then)
    assert comparison.differing == ()
    assert len(comparison.tensors) == 10


def test_a_state_of_int8_begins_with_its_zero_point() -> None:
    mod, params = from_tflite(svdf(1, 4, 6, 3, 2, True, "int8"))
    (state,) = signature_of(mod).states
    np.testing.assert_array_equal(state.array(), np.full((1, 18), 5, np.int8))
    library = tvm_qnn.build(mod, "llvm", params)
    arrays = list(params.values())
    kept = state.array()
    for (x,) in stream(1, 4, 4):
        features, times, bias = (each.numpy() for each in arrays)
        sums = (x.astype(np.int32) + 3) @ features.T.astype(np.int32)
        kept = quantized_svdf_state.evaluate(sums, kept, 0.05, 0.01, 0.5, 5)
        expected = quantized_svdf.evaluate(kept, times, 2, 0.5, 5, 0.01, 0.7, 9, bias=bias)
        np.testing.assert_array_equal(library.run(x), expected)
        np.testing.assert_array_equal(library.state["memory"], kept)


def test_other_types_are_refused() -> None:
    writer = ModelWriter()
    x, y, bias = (writer.tensor(name, (1, 2), "float32") for name in ("x", "y", "b"))
    weights = writer.tensor("w", (2, 2), "float32", None, np.zeros((2, 2), np.float32))
    state = writer.tensor("s", (1, 4), "float32", is_variable=True)
    writer.operator("SVDF", [x, weights, weights, bias, state], [y], rank=1)
    with pytest.raises(UnsupportedOperatorError, match="of float32 data, weights float32, float32"):
        from_tflite(writer.finish([x, bias], [y]))
