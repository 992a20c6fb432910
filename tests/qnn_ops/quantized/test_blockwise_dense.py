"""By hand; tests/frontends/onnx/replacements/test_block_weights.py compares with ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from qnn_ops import blockwise_dense
from qnn_ops.quantized.blockwise_dense import BITS, integers_of, packed
from tests.support.errors import fails
from tests.support.operators import module_of

DATA = np.array([[1, 2, 3]], np.float32)
# The integers 9, 8, 7, 15 and 0, 1, 2, 3, the lowest bits first.
WEIGHTS = np.array([[0x89, 0xF7], [0x10, 0x32]], np.uint8)
SCALES = np.array([[1, 2], [0.5, 4]], np.float32)
BLOCKS: dict[str, Any] = {"bits": 4, "block_size": 2}


def test_by_hand() -> None:
    result = blockwise_dense.evaluate(DATA, WEIGHTS, SCALES, **BLOCKS)
    assert result.tolist() == [[1 - 3 * 2, 0.5 * (-8 - 2 * 7) - 3 * 6 * 4]]


@pytest.mark.parametrize("bits", BITS)
def test_packed_integers_are_read_again(bits: int) -> None:
    integers = (np.arange(1, 8) * 37 % (1 << bits)).astype(np.uint8)[None]
    given = packed(integers, bits)
    assert given.shape == (1, -(-7 * bits // 8))
    assert not integers_of(given, bits)[:, 7:].any()
    np.testing.assert_array_equal(integers_of(given, bits)[:, :7], integers)


def test_points_by_hand() -> None:
    points = np.array([[9, 0], [0.5, 2]], np.float32)
    result = blockwise_dense.evaluate(DATA, WEIGHTS, SCALES, points, **BLOCKS)
    assert result.tolist() == [[-2 + 3 * 14, 0.5 * (-0.5 + 1)]]


def test_bytes_by_hand() -> None:
    weights = np.array([[128, 0, 255, 9]], np.uint8)
    result = blockwise_dense.evaluate(DATA, weights, SCALES[:1], bits=8, block_size=2)
    assert result.tolist() == [[-256 + 3 * 127 * 2]]


def test_quarters_of_bytes_by_hand() -> None:
    data, weights = (
        np.array([[1, 10, 100, 1000]], np.float32),
        np.array([[0b11_10_01_00]], np.uint8),
    )
    result = blockwise_dense.evaluate(data, weights, SCALES[:1, :1], bits=2, block_size=4)
    assert result.tolist() == [[-2 - 10 + 1000]]


def test_data_that_becomes_integers_by_hand() -> None:
    data = np.array([[127, 0.5, -254, 1]], np.float32)  # halves and quarters are rounded to even
    weights, scales = np.array([[0x89, 0xFA]], np.uint8), np.array([[1, 2]], np.float32)
    how: dict[str, Any] = {"bits": 4, "block_size": 2}
    real = blockwise_dense.evaluate(data, weights, scales, **how)
    assert real.tolist() == [[127 + 2 * (-254 * 2 + 7)]]
    result = blockwise_dense.evaluate(data, weights, scales, **how, quantizes_data=True)
    assert result.tolist() == [[127 + 2 * 2 * (-127 * 2)]]


REFUSED: dict[str, dict[str, Any]] = {
    "bits": {"bits": 3},
    "block_size must be a positive multiple of 2": {"block_size": 3},
    "data must have rows": {"data": np.array(1, np.float32)},
    "data": {"data": DATA.astype(np.float64)},
    "weights must have 2 bytes": {"weights": WEIGHTS[:, :1]},
    r"scales must have shape \(2, 2\)": {"scales": SCALES[:1]},
    "points": {"points": SCALES.astype(np.uint8)},
}


@pytest.mark.parametrize("message", REFUSED)
def test_operands_must_fit(message: str) -> None:
    given: dict[str, Any] = {"data": DATA, "weights": WEIGHTS}
    given |= {"scales": SCALES, "points": SCALES}
    given |= BLOCKS | REFUSED[message]
    operands = [given.pop(name) for name in blockwise_dense.tensors]
    fails(f"blockwise_dense: {message}", module_of, blockwise_dense, operands, **given)
