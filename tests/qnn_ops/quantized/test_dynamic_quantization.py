"""Scales and zero points that follow from the data of a run, and integers by them."""

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import dynamic_encoding, dynamic_quantize
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tests.support.litert import litert


def rows(rng: np.random.Generator, kind: int, shape: tuple[int, int] = (200, 6)) -> Array:
    """Make rows of several kinds: of any numbers, of ties, on one side of 0, of few numbers."""
    if kind == 0:
        return rng.normal(rng.normal(), rng.uniform(0.01, 9), shape).astype(np.float32)
    if kind == 1:  # zero points and values that are ties
        data = (rng.integers(-255, 256, shape) / 2).astype(np.float32)
        data[:, 0] = -rng.integers(0, 511, len(data)) / 2
        data[:, 1] = data[:, 0] + 255
        return data
    if kind == 2:  # near ties, where it shows in which precision a step is done
        data = rng.uniform(-1, 1, shape).astype(np.float32)
        data[:, 0] = -rng.integers(0, 511, len(data)) * np.float32(0.37) / 2
        data[:, 1] = np.float32(255) * np.float32(0.37) + data[:, 0]
        return data
    data = (np.round(rng.normal(0, 3, shape) * 4) / 4).astype(np.float32)
    data[::5] = np.abs(data[::5])
    data[1::5] = -np.abs(data[1::5])
    data[2::5] = 0
    return data


@pytest.mark.parametrize("asymmetric", [False, True])
def test_equals_litert(asymmetric: bool) -> None:
    # Through an identity of weights its FULLY_CONNECTED gives back what it made of the data.
    rng = np.random.default_rng(1)
    identity = np.eye(6, dtype=np.int8)
    for case in range(16):
        data = rows(rng, case % 4)
        expected = litert(
            "FULLY_CONNECTED",
            [(data, None)],
            (data.shape, "float32", None),
            [(identity, Quantization.per_tensor(1.0, 0))],
            version=9,
            asymmetric_quantize_inputs=asymmetric,
        )
        encoding = dynamic_encoding.evaluate(data, asymmetric)
        values = dynamic_quantize.evaluate(data, encoding).astype(np.float32)
        actual = (values - encoding[:, 2:]) * encoding[:, :1]
        np.testing.assert_array_equal(actual, expected)


def test_rows_are_of_float32_and_not_empty() -> None:
    with pytest.raises(QnnError, match="data must be float32, got int8"):
        dynamic_encoding.evaluate(np.zeros((2, 3), np.int8), False)
    for shape in ((), (2, 0)):
        with pytest.raises(QnnError, match="rows of at least 1 element"):
            dynamic_encoding.evaluate(np.zeros(shape, np.float32), False)


def test_equals_onnx_runtime() -> None:
    from tests.support.onnx_graphs import Net, on_runtime

    data = np.zeros((10, 30), np.float32)
    model = Net([("DynamicQuantizeLinear", "x", "q scale point")], {"x": data}).model
    rng = np.random.default_rng(7)
    for case in range(40):
        data = rows(rng, case % 4, (10, 30))
        if case == 39:
            data[:] = 0
        values, scale, point = on_runtime(model, {"x": data})
        encoding = dynamic_encoding.evaluate(data, True, arithmetic="onnxruntime", whole=True)
        np.testing.assert_array_equal(encoding[::2], [scale, np.float32(point) - 128])
        ours = dynamic_quantize.evaluate(data, encoding, "uint8", arithmetic="onnxruntime")
        np.testing.assert_array_equal(ours, values)


def test_onnx_runtime_has_zero_points() -> None:
    with pytest.raises(QnnError, match="has zero points"):
        dynamic_encoding.evaluate(np.zeros((1, 3), np.float32), False, arithmetic="onnxruntime")


def test_by_hand_of_dynamic_quantize() -> None:
    data = np.array([[0.75, -0.75, 1e30, np.nan], [0.5, 0.25, -1e30, 1]], np.float32)
    encoding = np.array([[0.5, 2, 3], [0.25, 4, -128]], np.float32)
    result = dynamic_quantize.evaluate(data, encoding)
    np.testing.assert_array_equal(result, np.array([[5, 1, 127, 3], [-126, -127, -128, -124]]))
    assert result.dtype == np.int8


def test_uint8_is_more_by_128() -> None:
    data = np.linspace(-2, 2, 40, dtype=np.float32).reshape(4, 10)
    encoding = np.tile(np.array([0.02, 50, 9], np.float32), (4, 1))
    low = dynamic_quantize.evaluate(data, encoding).astype(np.int64)
    np.testing.assert_array_equal(dynamic_quantize.evaluate(data, encoding, "uint8"), low + 128)


def test_operands_must_fit() -> None:
    data, encoding = np.zeros((2, 4), np.float32), np.zeros((2, 3), np.float32)
    with pytest.raises(QnnError, match=r"an encoding of shape \(1, 3\) for data of shape"):
        dynamic_quantize.evaluate(data, encoding[:1])
    with pytest.raises(QnnError, match="out_dtype must be int8 or uint8, got int16"):
        dynamic_quantize.evaluate(data, encoding, "int16")
