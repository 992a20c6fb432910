from typing import Any

import numpy as np
import pytest

from qnn_ops import dynamic_encoding, dynamic_quantize
from qnn_ops.arrays import Array
from tests.qnn_ops.quantized.test_dynamic_quantization import rows
from tests.support.kernels import Call, Place, check_calls, each_register

ORT: dict[str, Any] = {"arithmetic": "onnxruntime"}
SHAPES = [(7, 1), (3, 5), (4, 64), (2, 3, 100), (5, 257), (130,)]


def arrays() -> list[Array]:
    rng = np.random.default_rng(1)
    made = [rows(rng, kind % 4, (64, 1200)) for kind in range(len(SHAPES))]
    return [
        data.ravel()[: int(np.prod(shape))].reshape(shape)
        for data, shape in zip(made, SHAPES, strict=True)
    ]


@each_register
def test_rows_are_encoded_and_quantized(place: Place) -> None:
    calls = []
    for number, data in enumerate(arrays()):
        asymmetric = bool(number % 2)
        calls.append(Call(dynamic_encoding, [data], {"asymmetric": asymmetric}))
        encoding = dynamic_encoding.evaluate(data, asymmetric)
        dtype = ("int8", "uint8")[number // 2 % 2]
        calls.append(Call(dynamic_quantize, [data, encoding], {"out_dtype": dtype}))
    check_calls(place, calls)


@each_register
def test_rows_of_onnx_runtime(place: Place) -> None:
    calls = []
    for number, data in enumerate(arrays()):
        attrs = {"asymmetric": True, "whole": number > 2, **ORT}
        calls.append(Call(dynamic_encoding, [data], attrs))
        encoding = dynamic_encoding.evaluate(data, **attrs)
        data.ravel()[::7] = np.nan
        data.ravel()[1::9] *= 3
        dtype = ("int8", "uint8")[number % 2]
        calls.append(Call(dynamic_quantize, [data, encoding], {"out_dtype": dtype, **ORT}))
    check_calls(place, calls)


@each_register
@pytest.mark.parametrize("asymmetric", [False, True])
def test_what_is_no_number_or_infinite(place: Place, asymmetric: bool) -> None:
    data = np.random.default_rng(2).normal(size=(5, 70)).astype(np.float32)
    data[0, 3], data[1, 69], data[2, 0], data[3] = np.nan, np.inf, -np.inf, np.nan
    data[4] = 0
    encoding = dynamic_encoding.evaluate(data, asymmetric)
    assert np.isfinite(encoding[:, 2]).all()
    calls = [
        Call(dynamic_encoding, [data], {"asymmetric": asymmetric}),
        Call(dynamic_quantize, [data, encoding], {}),
    ]
    check_calls(place, calls)


@each_register
def test_quotients_of_onnx_runtime_are_rounded_once(place: Place) -> None:
    rng, calls = np.random.default_rng(3), []
    exponents = [*range(-140, 127, 20), *(rng.integers(-12, 3, 50))]
    for exponent in exponents:
        scale = np.float32(rng.uniform(1, 2) * 2.0**exponent)
        ties = (np.arange(-140, 140) + 0.5).astype(np.float32) * scale
        ends = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, -0.0], np.float32)
        data = np.concatenate([ties, np.nextafter(ties, np.float32(np.inf)), ends])
        data = np.concatenate([data, np.nextafter(ties, np.float32(-np.inf))])[None]
        encoding = np.array([scale, np.nan, rng.integers(-128, 128)], np.float32)
        calls.append(Call(dynamic_quantize, [data, encoding], {"out_dtype": "uint8", **ORT}))
    check_calls(place, calls)
