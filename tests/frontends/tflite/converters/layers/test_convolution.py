"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.differential.layers import convolution, dense, depthwise
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
    random_quantization,
    refused,
    x,
)
from tvm_qnn.compare import compare

NARROW = Quantization.per_tensor(0.1, 0)
test_convolutions_equal_litert = compiled(convolution, depthwise)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_groups_equal_litert(dtype: str) -> None:
    sheet, wide = Sheet(seed=1), dtype == "int16"
    data = x(2, 5, 6, 4, dtype=dtype, encoding=NARROW if wide else Q)
    kind = "uint8" if dtype == "uint8" else "int8"
    weights = fixed(full_range(sheet.rng, kind, (6, 3, 2, 2)) | 1, kind, NARROW)
    bias = fixed([0, 700, -900, 5, 0, 60], "int64" if wide else "int32")
    result = (ANY, dtype, Quantization.per_tensor(3.0 if wide else 45.0, 0))
    sheet.add("CONV_2D", data, weights, bias, gives=result, padding="SAME")
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


test_layers_equal_litert = compiled(dense)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_layers_of_any_rank_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=3)
    encoding, sums = Quantization.per_tensor(0.2, 7), Quantization.per_tensor(0.1, 0)
    weights = fixed(sheet.rng.integers(0, 15, (5, 12)), dtype, encoding)
    bias = fixed([0, 700, -900, 5, 60], "int32", sums)
    result = (ANY, dtype, Quantization.per_tensor(4.0, 80))
    for shape, keep in (
        ((12,), False),
        ((8, 3), False),  # rows that cross the data's
        ((2, 3, 2, 2), False),
        ((2, 3, 12), True),
    ):
        options = {"gives": result, "keep_num_dims": keep}
        sheet.add("FULLY_CONNECTED", x(*shape, dtype=dtype), weights, bias, **options)
    sheet.check_reference()
    sheet.check()


def add_product(
    sheet: Sheet, dtype: str, shape: tuple[int, ...], units: int, **options: Any
) -> None:
    """Add a layer of two activations; the second has its own zero point."""
    rng, depth, other = sheet.rng, shape[-1], "int8" if dtype == "int16" else dtype
    wide = dtype == "int16"
    points = [0, 0] if wide else rng.integers(-9, 9, 2) + (128 if dtype == "uint8" else 0)
    first, second = (Quantization.per_tensor(0.05, int(point)) for point in points)
    operands = [sheet.random_input(shape, dtype, first)]
    operands.append(sheet.random_input((units, depth), other, second))
    if options.pop("bias", False):
        bias = rng.integers(-20000, 20000, units).astype("int64" if wide else "int32")
        operands.append(sheet.bias(bias, Quantization.per_tensor(0.0025, 0)))
    outer = shape[:-1] if options.get("keep_num_dims") else (int(np.prod(shape[:-1])),)
    step = 20.0 if wide else 0.1 * float(np.sqrt(depth))
    result = Quantization.per_tensor(step, 0) if wide else random_quantization(rng, dtype, step)
    sheet.operator("FULLY_CONNECTED", operands, ((*outer, units), dtype, result), **options)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_products_of_two_activations_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=5)
    add_product(sheet, dtype, (1, 5, 8), 6)
    add_product(sheet, dtype, (2, 3, 40), 17, keep_num_dims=True, bias=True)
    add_product(sheet, dtype, (4, 33), 1, fused_activation_function="RELU6", bias=True)
    sheet.check()


def test_weights_that_an_operator_computes() -> None:
    """As in exports of attention, the factors are transposed data."""
    sheet = Sheet(seed=6)
    known = [random_quantization(sheet.rng, "int8", scale) for scale in (0.05, 0.05, 0.5, 0.5)]
    data, other = x(32, 8, encoding=known[0]), x(1, 6, 32, encoding=known[1])
    rows = sheet.made("TRANSPOSE", data, [1, 0])
    result, square = ((ANY, "int8", each) for each in known[2:])
    sheet.add("FULLY_CONNECTED", other, rows, gives=result, keep_num_dims=True)
    both = sheet.made("RELU", data)
    sheet.add("FULLY_CONNECTED", both, both, gives=square)
    # With the kernels of this machine.
    assert compare(sheet.model(), sheet.arrays).is_equal


_ONE_SCALE = Quantization.per_tensor(0.1, 0)
_SCALES = Quantization(np.full(3, 0.1, np.float32), np.zeros(3, np.int64))
_POINTS = Quantization(np.full(3, 0.1, np.float32), np.array([0, 1, 0], np.int64))


def _dense(
    *shape: int, dtype: str = "int8", encoding: Quantization = _ONE_SCALE, **options: str
) -> Sheet:
    weights = fixed(np.ones(shape), dtype, encoding)
    return one("FULLY_CONNECTED", x(2, 6, dtype=dtype), weights, **options)


test_weights_that_do_not_fit = refused(
    ("has no whole rows of 0", _dense(3, 0)),
    ("has no whole rows of 5, which tensor 1 'c2' takes", _dense(3, 5)),
    (r"'c2' must have 2 dimensions, got \(3, 6, 1\)", _dense(3, 6, 1)),
    ("a scale per row and a zero point that is not 0", _dense(3, 6, encoding=_POINTS)),
    ("uint8 weights with a scale per channel", _dense(3, 6, dtype="uint8", encoding=_SCALES)),
    ("in the format SHUFFLED4x16", _dense(3, 6, dtype="uint8", weights_format="SHUFFLED4x16INT8")),
    ("fused activation TANH", _dense(3, 6, fused_activation_function="TANH")),
)
