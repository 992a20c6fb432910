"""ONNX Runtime's arithmetic, against ONNX Runtime itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from qnn_ops import (
    quantize,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_dense,
    quantized_mean,
    quantized_multiply,
    quantized_softmax,
)
from qnn_ops.arithmetic.onnxruntime import hyperbolic_tangent, is_within
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError
from tests.support.onnx_graphs import Net

F = np.float32
DTYPES = ["uint8", "int8"]
# Scales whose quotients are short, so that ties abound, and others.
SCALES = [(0.5, 0.25, 0.5), (0.75, 0.5, 2.0), (0.0371, 0.0113, 0.0529), (1.25, 3.5, 0.375)]


def run_operator(
    name: str, operands: Mapping[str, Array], feeds: tuple[str, ...], **attributes: Any
) -> Array:
    """Return an operator's results.

    Args:
        name: of the operator.
        operands: by any names, in their order.
        feeds: the names of operands that are the model's inputs; the others are constants.
        attributes: of the operator.
    """
    data = {key: operands[key] for key in feeds}
    constants = {key: array for key, array in operands.items() if key not in feeds}
    node = (name, " ".join(operands), "result", attributes)
    (result,) = Net([node], data, constants, opset=21).theirs()
    return result


def bytes_of(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    low, high = dtype_range(dtype)
    return rng.integers(low, high + 1, shape).astype(dtype)


def pairs(dtype: str) -> tuple[Array, Array]:
    """Return all 65,536 pairs of bytes."""
    low, high = dtype_range(dtype)
    values = np.arange(low, high + 1).astype(dtype)
    return np.repeat(values, 256).reshape(256, 256), np.tile(values, (256, 1))


def points(rng: np.random.Generator, dtype: str, count: int) -> list[int]:
    return [int(point) for point in bytes_of(rng, (count,), dtype)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["QLinearAdd", "QLinearMul"])
def test_pairs_equal_onnx_runtime(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    ours = quantized_add if name == "QLinearAdd" else quantized_multiply
    lhs, rhs = pairs(dtype)
    for scales in SCALES * 2:
        zeros = points(rng, dtype, 3)
        for left, right in ((lhs, rhs), (lhs[:, :1], rhs), (lhs, rhs[:, :1]), (lhs, rhs[:1])):
            encodings = [
                (F(s), np.dtype(dtype).type(z)) for s, z in zip(scales, zeros, strict=True)
            ]
            (sa, za), (sb, zb), (sc, zc) = encodings
            operands = {"a": left, "sa": sa, "za": za, "b": right, "sb": sb, "zb": zb}
            operands |= {"sc": sc, "zc": zc}
            arrays = {key: np.asarray(value) for key, value in operands.items()}
            wanted = run_operator(name, arrays, ("a", "b"))
            arguments = [value for s, z in zip(scales, zeros, strict=True) for value in (s, z)]
            got = ours.evaluate(left, right, *arguments, dtype, arithmetic="onnxruntime")
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("ours", [quantized_add, quantized_multiply])
def test_values_that_were_moved_give_the_same(ours: Any) -> None:
    lhs, rhs = pairs("int8")
    for scales in SCALES:
        arguments = (scales[0], -5, scales[1], 17, scales[2], 3)
        own = ours.evaluate(lhs, rhs, *arguments, "int8", arithmetic="onnxruntime")
        moved = [(array.astype(np.int16) + 128).astype(np.uint8) for array in (lhs, rhs)]
        arguments = (scales[0], 123, scales[1], 145, scales[2], 131)
        result = ours.evaluate(
            *moved, *arguments, "uint8", arithmetic="onnxruntime", model_dtype="int8"
        )
        np.testing.assert_array_equal(result.astype(np.int16) - 128, own)


@pytest.mark.parametrize("dtype", [*DTYPES, "int16"])
def test_quantize_equals_onnx_runtime(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for scale in (0.5, 0.0371, 3.0, 1e-38):
        zero = points(rng, dtype, 1)[0]
        steps = np.arange(-300, 300, 0.5)
        ties = (steps * scale).astype(F)
        ends = [np.nan, np.inf, -np.inf, -0.0, 3e38]
        data = np.concatenate([np.nextafter(ties, -np.inf), ties, np.nextafter(ties, np.inf), ends])
        data = np.concatenate([data, rng.normal(0, 100 * scale, 30000)]).astype(F)
        operands = {"x": data, "s": np.asarray(F(scale)), "z": np.asarray(zero, dtype)}
        wanted = run_operator("QuantizeLinear", operands, ("x",))
        got = quantize.evaluate(data, scale, zero, dtype, arithmetic="onnxruntime")
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_concat_equals_onnx_runtime(dtype: str) -> None:
    rng = np.random.default_rng(3)
    values = np.arange(*dtype_range(dtype)).astype(dtype)
    for scales in SCALES:
        zeros = points(rng, dtype, 3)
        output = {"sy": F(scales[2]), "zy": np.dtype(dtype).type(zeros[2])}
        inputs: dict[str, Any] = {}
        for index, data in enumerate((values, values[::-1].copy())):
            inputs |= {f"x{index}": data, f"s{index}": F(scales[index])}
            inputs |= {f"z{index}": np.dtype(dtype).type(zeros[index])}
        arrays = {key: np.asarray(value) for key, value in (output | inputs).items()}
        wanted = run_operator("QLinearConcat", arrays, ("x0", "x1"), axis=0)
        got = quantized_concat.evaluate(
            [arrays["x0"], arrays["x1"]],
            *(list(scales[:2]), zeros[:2], scales[2], zeros[2], dtype),
            axis=0,
            arithmetic="onnxruntime",
        )
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_mean_equals_onnx_runtime(dtype: str) -> None:
    rng = np.random.default_rng(4)
    for side, (scale, _, output) in zip((7, 8, 3, 4), SCALES, strict=True):
        data = bytes_of(rng, (2, 500, side, side), dtype)
        zero, out_zero = points(rng, dtype, 2)
        operands = {"x": data, "sx": np.asarray(F(scale)), "zx": np.asarray(zero, dtype)}
        operands |= {"sy": np.asarray(F(output)), "zy": np.asarray(out_zero, dtype)}
        wanted = run_operator("QLinearGlobalAveragePool", operands, ("x",))
        encodings = scale, zero, output, out_zero, dtype
        got = quantized_mean.evaluate(data, [2, 3], True, *encodings, arithmetic="onnxruntime")
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [5, 100, 1000])
def test_softmax_equals_onnx_runtime(dtype: str, count: int) -> None:
    rng = np.random.default_rng(5)
    for scale, output in ((0.25, 1 / 256), (0.0371, 0.0039), (2.0, 0.01)):
        data = bytes_of(rng, (20000 // count, count), dtype)
        out_zero = points(rng, dtype, 1)[0]
        operands = {"x": data, "sx": np.asarray(F(scale)), "zx": np.asarray(3, dtype)}
        operands |= {"sy": np.asarray(F(output)), "zy": np.asarray(out_zero, dtype)}
        wanted = run_operator("QLinearSoftmax", operands, ("x",), axis=-1, opset=13)
        got = quantized_softmax.evaluate(
            data, scale, 3, output, out_zero, dtype, arithmetic="onnxruntime"
        )
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("per_channel", [False, True])
def test_convolution_equals_onnx_runtime(types: tuple[str, str], per_channel: bool) -> None:
    rng = np.random.default_rng(6)
    dtype, weight_dtype = types
    data = bytes_of(rng, (1, 8, 40, 40), dtype)
    weight = bytes_of(rng, (12, 8, 3, 3), weight_dtype)
    bias = rng.integers(-(2**20), 2**20, 12).astype(np.int32)
    scales = rng.choice([0.5, 0.0113, 0.25, 0.0371], 12).astype(F) if per_channel else F(0.0113)
    zero, out_zero = points(rng, dtype, 2)
    weight_zero = 0 if weight_dtype == "int8" else 128
    operands = {"x": data, "sx": F(0.0371), "zx": np.dtype(dtype).type(zero), "w": weight}
    operands |= {"sw": scales, "zw": np.full(np.shape(scales), weight_zero, weight_dtype)}
    for output in (2.0, 8.0, 31.7):
        operands |= {"sy": F(output), "zy": np.dtype(dtype).type(out_zero), "b": bias}
        arrays = {key: np.asarray(value) for key, value in operands.items()}
        wanted = run_operator("QLinearConv", arrays, ("x",), pads=[1] * 4)
        encodings = (0.0371, zero, scales.tolist(), weight_zero, output, out_zero, dtype)
        got = quantized_conv2d.evaluate(
            data, weight, *encodings, padding=1, bias=bias, rounding="float32"
        )
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_equals_onnx_runtime(dtype: str) -> None:
    rng = np.random.default_rng(7)
    data, weight = bytes_of(rng, (300, 40), dtype), bytes_of(rng, (50, 40), "int8")
    bias = rng.integers(-5000, 5000, 50).astype(np.int32)
    scales = rng.choice([0.5, 0.0113, 0.25, 0.0371], 50).astype(F)
    zero, out_zero = points(rng, dtype, 2)
    operands = {"a": data, "sa": F(0.0371), "za": np.dtype(dtype).type(zero), "b": weight}
    operands |= {"sb": scales, "zb": np.zeros(50, np.int8), "c": bias}
    for output in (0.5, 2.0, 8.3):
        operands |= {"sy": F(output), "zy": np.dtype(dtype).type(out_zero)}
        arrays = {key: np.asarray(value) for key, value in operands.items()}
        wanted = run_operator("QGemm", arrays, ("a",), transB=1)
        encodings = (0.0371, zero, scales.tolist(), 0, output, out_zero, dtype)
        got = quantized_dense.evaluate(data, weight, *encodings, bias=bias, rounding="float32")
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("bounds", "are_within"),
    [
        ((0, np.inf), True),
        ((0, 127.5), True),
        ((0, 127.24), False),  # 254.48 steps
        ((0.25, np.inf), True),  # half a step is rounded to none
        ((0.26, np.inf), False),
        ((np.nan, np.inf), False),
    ],
)
def test_ranges_within_bounds(bounds: tuple[float, float], are_within: bool) -> None:
    assert is_within((0.5, 0, "uint8"), bounds) is are_within


def test_the_hyperbolic_tangent_has_all_bits() -> None:
    data = np.random.default_rng(9).normal(0, 4, 20000).astype(F)
    wanted = run_operator("Tanh", {"x": data}, ("x",))
    np.testing.assert_array_equal(hyperbolic_tangent(data), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_of_a_softmax_are_doubles(dtype: str) -> None:
    rng = np.random.default_rng(3)
    near = np.clip(rng.normal(128, 12, (400_000, 16)), 0, 255) + dtype_range(dtype)[0]
    data, one = near.astype(dtype), np.zeros((4, 1), dtype)
    # Ties, which float32 meets and float64 does not; and products beyond float32.
    for array, scale, output in ((data, 0.09151991, 0.00392157), (one, 0.1, 1 / 3000)):
        operands = {"x": array, "sx": np.asarray(F(scale)), "zx": np.asarray(3, dtype)}
        operands |= {"sy": np.asarray(F(output)), "zy": np.asarray(0, dtype)}
        wanted = run_operator("QLinearSoftmax", operands, ("x",), axis=-1, opset=13)
        got = quantized_softmax.evaluate(
            array, scale, 3, output, 0, dtype, arithmetic="onnxruntime"
        )
        np.testing.assert_array_equal(got, wanted)


def test_a_softmax_whose_steps_do_not_fit_is_refused() -> None:
    data = np.zeros((4, 1), np.uint8)
    with pytest.raises(QnnError, match="1e-10 is too small for a softmax"):
        quantized_softmax.evaluate(data, 0.1, 0, 1e-10, 0, "uint8", arithmetic="onnxruntime")


def test_other_operators_have_no_such_arithmetic() -> None:
    from qnn_ops import quantized_subtract

    data = np.zeros(4, np.uint8)
    with pytest.raises(QnnError, match="arithmetic must be one of tflite, xnnpack, got 'onnx"):
        quantized_subtract.evaluate(
            data, data, 0.1, 0, 0.1, 0, 0.1, 0, "uint8", arithmetic="onnxruntime"
        )
