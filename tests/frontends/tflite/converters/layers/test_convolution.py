from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.differential.layers import convolution, depthwise
from tests.support.arrays import full_range
from tests.support.steps import compiled
from tests.support.tflite import (
    ANY,
    Operand,
    Q,
    Sheet,
    fixed,
    given,
    one,
    refused,
    x,
)

NARROW = Quantization.per_tensor(0.1, 0)
test_convolutions_equal_litert = compiled(convolution, depthwise)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_groups_equal_litert(dtype: str) -> None:
    sheet, wide = Sheet(seed=1), dtype == "int16"
    data = x(2, 5, 6, 4, dtype=dtype, encoding=NARROW)
    kind = "uint8" if dtype == "uint8" else "int8"
    weights = fixed(full_range(sheet.rng, kind, (6, 3, 2, 2)) | 1, kind, NARROW)
    bias = fixed([0, 700, -900, 5, 0, 60], "int64" if wide else "int32")
    result = (ANY, dtype, Quantization.per_tensor(0.1 if wide else 9.0, 0))
    sheet.add("CONV_2D", data, weights, bias, gives=result)
    sheet.check_reference()
    sheet.check()


def _kernel(encoding: Quantization = NARROW, dtype: str = "int8", make: Any = fixed) -> Operand:
    operand: Operand = make(np.ones((3, 2, 2, 2)), dtype, encoding)
    return operand


_THIRDS = Quantization(np.full(2, 0.1, np.float32), np.zeros(2, np.int64), 3)
_SMALL, _WIDE = x(1, 4, 4, 2), fixed(np.ones((3, 2, 5, 2)), "int8", NARROW)
_STEPS = {"stride_h": 2, "stride_w": 2}

test_kernels_that_do_not_fit = refused(
    ("int8 kernel whose zero point is not 0", one("CONV_2D", _SMALL, _kernel(Q))),
    ("int8 data, uint8 weights", one("CONV_2D", _SMALL, _kernel(Q, "uint8"))),
    ("quantized along axis 0, got axis 3", one("CONV_2D", _SMALL, _kernel(_THIRDS))),
    (
        r"operator 0 CONV_2D \('x1', 'x2', 'y3'\): input 1, tensor 1 'x2', must be constant",
        one("CONV_2D", _SMALL, _kernel(make=given)),
    ),
    (
        "the bias tensor 2 'c3' must be int32, got float32",
        one("CONV_2D", _SMALL, _kernel(), fixed([0] * 3, "float32")),
    ),
    ("tensor 0 .* needs height and width", one("CONV_2D", x(1, 1, 0, 2), _WIDE, **_STEPS)),
    ("tensor 0 .* needs height and width", one("CONV_2D", x(1, 0, 9, 2), _WIDE, **_STEPS)),
    ("the window spans 2 pixels along the height", one("CONV_2D", x(1, 1, 1, 2), _WIDE, **_STEPS)),
    ("CONV_2D", one("CONV_2D", x(1, 3, 4, 2), fixed(np.ones((3, 5, 1, 2)), "int8", NARROW))),
)


@pytest.mark.parametrize("activation", ["TANH", "SIGN_BIT"])
def test_fused_activations_that_litert_does_not_know_are_none(activation: str) -> None:
    sheet, bias = Sheet(), fixed([0] * 3, "int32", NARROW)
    sheet.add("CONV_2D", _SMALL, _kernel(), bias, fused_activation_function=activation)
    sheet.add("ADD", _SMALL, _SMALL, fused_activation_function=activation)
    sheet.check()


@pytest.mark.parametrize("scale", [-0.01, np.inf, np.nan])
def test_the_scale_of_a_bias_is_not_read(scale: float) -> None:
    sheet = Sheet(seed=8)
    data = x(1, 3, 4, 2, encoding=Quantization.per_tensor(0.1, 3))
    weights = fixed(full_range(sheet.rng, "int8", (3, 1, 1, 2)), "int8", NARROW)
    bias = fixed([5, -700, 100], "int32", Quantization.per_tensor(scale, 0))
    result = (ANY, "int8", Quantization.per_tensor(2.0, 0))
    sheet.add("CONV_2D", data, weights, bias, gives=result, padding="SAME")
    sheet.check()


@pytest.mark.parametrize(("taps", "stride"), [(4, 1), (7, 3)])
def test_a_kernel_larger_than_the_image(taps: int, stride: int) -> None:
    sheet, data = Sheet(seed=9), x(1, 3, 4, 2, encoding=NARROW)
    weights = fixed(full_range(sheet.rng, "int8", (3, taps, 1, 2)), "int8", NARROW)
    bias = fixed([0] * 3, "int32", Quantization.per_tensor(0.01, 0))
    sheet.add("CONV_2D", data, weights, bias, stride_h=stride, stride_w=stride)
    sheet.check()
