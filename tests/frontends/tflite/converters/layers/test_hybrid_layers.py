"""Hybrid layers: float32 data, made int8 at run time, and 8-bit weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.hybrid import float_rows, scales, weights_of
from tests.support.tflite import Operand, Sheet, check_refused, fixed, given, one, refused, x
from tvm_qnn.compare import compare

NARROW = Quantization.per_tensor(0.1, 0)
SAME = {"padding": "SAME"}


def rows(rng: np.random.Generator, *shape: int) -> Operand:
    return given(float_rows(rng, shape), "float32")


def bias(rng: np.random.Generator, channels: int) -> Operand:
    return fixed(rng.normal(0, 3, channels), "float32")


def convolutions(seed: int, kinds: Sequence[int]) -> Sheet:
    """A sheet of convolutions; the bits of a kind are its properties."""
    sheet = Sheet(seed)
    rng = sheet.rng
    for number in kinds:
        is_same, per_channel, is_pointwise = (bool(number >> bit & 1) for bit in range(3))
        inputs, outputs = int(rng.integers(1, 12)), int(rng.integers(1, 20))
        window = 1 if is_pointwise else 3
        kernel = (outputs, window, window, inputs)
        sheet.add(
            "CONV_2D",
            rows(rng, 2, 7, 8, inputs),
            weights_of(rng, kernel, outputs if per_channel else 1),
            bias(rng, outputs),
            stride_h=1 if number == 2 else 1 + number % 2,
            dilation_h_factor=2 if number == 2 else 1,
            padding="SAME" if is_same else "VALID",
            fused_activation_function=("NONE", "RELU", "RELU6")[number % 3],
        )
    for each, padding in ((1, "SAME"), (2, "VALID"), (1, "VALID")):
        kernel = (1, 3, 3, 5 * each)
        sheet.add(
            "DEPTHWISE_CONV_2D",
            rows(rng, 2, 6, 7, 5),
            weights_of(rng, kernel, 5 * each, axis=3),
            bias(rng, 5 * each),
            version=6,
            depth_multiplier=each,
            padding=padding,
        )
    return sheet


def test_every_element_is_litert_s() -> None:
    convolutions(1, range(8)).check()
    sheet = convolutions(2, (1, 3, 6))
    assert compare(sheet.model(), sheet.arrays).differing == ()
    layers(1, range(8)).check()
    sheet = layers(2, (2, 3, 4, 5))
    assert compare(sheet.model(), sheet.arrays).differing == ()


def test_batches_of_no_images_groups_and_equal_scales() -> None:
    sheet = Sheet(5)
    rng = sheet.rng
    data = given(np.zeros((0, 4, 4, 2)), "float32")
    for count in (1, 3):
        sheet.add("CONV_2D", data, weights_of(rng, (3, 2, 2, 2), count), bias(rng, 3), **SAME)
    data = rows(rng, 1, 4, 4, 6)
    equal = Quantization(np.full(4, 0.03, np.float32), np.zeros(4, np.int64), 0)
    whole = fixed(rng.integers(-127, 128, (4, 3, 3, 6)), "int8", equal)
    for kernel in (weights_of(rng, (4, 3, 3, 3), 4), whole):
        sheet.add("CONV_2D", data, kernel, bias(rng, 4), **SAME)
    sheet.check()


def _kernel(*shape: int, encoding: Quantization = NARROW) -> Operand:
    return fixed(np.ones(shape), "int8", encoding)


_IMAGE, _ROWS = x(1, 4, 4, 6, dtype="float32"), x(3, 4, dtype="float32")
_STEPS = {**SAME, "stride_h": 1, "stride_w": 1}

test_what_is_refused = refused(
    ("has one scale for 4 channels", one("CONV_2D", _IMAGE, _kernel(4, 3, 3, 3))),
    ("has one scale for 6 channels", one("DEPTHWISE_CONV_2D", _IMAGE, _kernel(1, 3, 3, 6))),
    (
        "has no elements, which LiteRT does not add up",
        one("FULLY_CONNECTED", x(2, 0, dtype="float32"), _kernel(3, 0), keep_num_dims=True),
    ),
    (
        "has 3 scales|3 scales, axis 0 of shape",
        one("FULLY_CONNECTED", _ROWS, _kernel(2, 4, encoding=scales(np.random.default_rng(6), 3))),
    ),
    ("bias .* must be float32, got int32", one("FULLY_CONNECTED", _ROWS, _kernel(2, 4), [0, 0])),
    (
        r"must have 4 dimensions, got \(\)",
        one("TRANSPOSE_CONV", [1, 4, 4, 1], _kernel(), _IMAGE, gives="float32", **_STEPS),
    ),
)


def test_transposed_convolutions_are_near_litert_s() -> None:
    sheet = Sheet(seed=3)
    rng = sheet.rng
    for shape, options in (
        ((2, 8, 8, 6), {"stride_h": 2, "stride_w": 2, "padding": "SAME"}),
        ((2, 6, 6, 6), {"fused_activation_function": "RELU"}),
    ):
        data = given(rng.normal(0.3, 2, (2, 4, 4, 5)), "float32")
        operands = [fixed(shape, "int32"), weights_of(rng, (6, 3, 3, 5), 6), data]
        operands += [bias(rng, 6)] if "padding" not in options else []
        steps = {"stride_h": 1, "stride_w": 1, "padding": "VALID", **options}
        sheet.add("TRANSPOSE_CONV", *operands, gives="float32", version=3, **steps)
    # Sums of 45 products at most, here scaled after they are added up: each of two such sums lies
    # within 45 roundings of the real one.
    largest = max(np.abs(array).max() for array in sheet.arrays) * 127 * 0.1
    for result, expected in sheet.outputs(kernels=False):
        assert np.abs(result - expected).max() <= 2 * 45 * 2.0**-24 * 45 * largest
        assert len(np.unique(result)) > 50


def layers(seed: int, kinds: Sequence[int]) -> Sheet:
    """A sheet of dense layers; the bits of a kind are its properties."""
    sheet = Sheet(seed)
    rng = sheet.rng
    for number in kinds:
        asymmetric, per_channel, has_bias = (bool(number >> bit & 1) for bit in range(3))
        count, depth, units = (int(rng.integers(1, high)) for high in (6, 200, 30))
        sheet.add(
            "FULLY_CONNECTED",
            rows(rng, count, depth),
            weights_of(rng, (units, depth), units if per_channel else 1),
            *([bias(rng, units)] if has_bias else []),
            version=9,
            asymmetric_quantize_inputs=asymmetric,
            fused_activation_function=("NONE", "RELU6", "RELU_N1_TO_1")[number % 3],
        )
    return sheet


def test_rows_of_any_rank_shared_weights_and_none() -> None:
    sheet = Sheet(3)
    rng = sheet.rng
    kernel = weights_of(rng, (5, 8), 5)
    for is_asymmetric in (False, True):
        data, options = rows(rng, 2, 3, 8), {"asymmetric_quantize_inputs": is_asymmetric}
        for keep in (True, False):
            sheet.add("FULLY_CONNECTED", data, kernel, version=9, keep_num_dims=keep, **options)
    array = rng.integers(-127, 128, (7, 40)).astype(np.int8).view(np.uint8)
    kernel = fixed(array, "uint8", Quantization.per_tensor(0.02, 0))
    sheet.add("FULLY_CONNECTED", rows(rng, 3, 40), kernel, version=3)
    sheet.check()
    sheet = one("FULLY_CONNECTED", x(0, 4, dtype="float32"), _kernel(3, 4))
    sheet.add("FULLY_CONNECTED", x(2, 4, dtype="float32"), _kernel(0, 4))
    sheet.check()


def test_a_tanh_is_that_of_the_layer() -> None:
    sheet = Sheet(9)
    data = given(float_rows(sheet.rng, (3, 40)) / 8, "float32")
    options: dict[str, Any] = {"version": 9, "fused_activation_function": "TANH"}
    sheet.add("FULLY_CONNECTED", data, weights_of(sheet.rng, (7, 40), 7), **options)
    ((found, wanted),) = sheet.outputs("host")
    assert 0.3 < np.abs(wanted).mean() < 0.99
    # Both sides' functions are polynomials, within 3 ULPs of the true one.
    np.testing.assert_array_max_ulp(found, wanted, 6)


def test_signs_and_zeros() -> None:
    sheet = Sheet(9)
    array = float_rows(sheet.rng, (4, 40))
    array[1] = 0
    array[2] = 1e-40  # of products that vanish, and keep their sign
    operands = [given(array, "float32"), weights_of(sheet.rng, (7, 40), 7)]
    for others in ([], [bias(sheet.rng, 7)]):
        options: dict[str, Any] = {"version": 9, "fused_activation_function": "SIGN_BIT"}
        sheet.add("FULLY_CONNECTED", *operands, *others, **options)
    array = np.zeros((3, 4), np.float32)
    array[1] = [1, -2, 3, 0.5]
    for values in (array, array * 0):
        for asymmetric in (False, True):
            operands = [given(values, "float32"), weights_of(sheet.rng, (2, 4), 1)]
            options = {"version": 9, "asymmetric_quantize_inputs": asymmetric}
            sheet.add("FULLY_CONNECTED", *operands, fixed([1, -2], "float32"), **options)
    sheet.check()


def test_weights_of_four_bits() -> None:
    sheet = Sheet(seed=8)
    rng = sheet.rng

    def narrow(shape: tuple[int, ...], count: int) -> Operand:
        array = rng.integers(-7, 8, shape).astype(np.int8)
        return Operand((shape, "int4", scales(rng, count)), array, is_constant=True)

    sheet.add("FULLY_CONNECTED", rows(rng, 3, 40), narrow((7, 40), 7), version=9)
    sheet.add("CONV_2D", rows(rng, 2, 5, 5, 3), narrow((4, 3, 3, 3), 4), bias(rng, 4), version=8)
    places = given([4, 0, 2], "int32")
    sheet.add("EMBEDDING_LOOKUP", places, narrow((5, 10), 5), gives="float32", version=4)
    assert compare(sheet.model(), sheet.arrays, "llvm").differing == ()


def test_a_batch_that_the_file_leaves_open() -> None:
    sheet, number = Sheet(7), ((), "int32", None)
    data = rows(sheet.rng, 1, 2, 6)
    shape = sheet.made("SHAPE", data, gives="int32", out_type="int32")
    parts = {"gives": number, "shrink_axis_mask": 1}
    batch = sheet.made("STRIDED_SLICE", shape, [0], [1], [1], **parts)
    sizes = sheet.made("PACK", batch, 12, gives="int32", values_count=2)
    flat = sheet.made("RESHAPE", data, sizes)
    sheet.add("FULLY_CONNECTED", flat, weights_of(sheet.rng, (5, 12), 5))
    arrays = [float_rows(sheet.rng, (7, 2, 6))]
    found = compare(sheet.model(), arrays, "llvm", shape_dict={"x1": (7, 2, 6)})
    assert found.differing == ()
    assert found.tensors[-1].elements == 35


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_weights_that_a_run_computes(dtype: str) -> None:
    """Each run of the model has other ones; a first run of LiteRT's is meant."""
    sheet = Sheet(seed=9)
    # Without -128, which LiteRT's code for x86 takes for 128.
    numbers = sheet.rng.integers(-127, 128, (5, 24)).astype(np.int8).view(dtype)
    kernel = given(numbers, dtype, Quantization.per_tensor(0.02, 7 if dtype == "uint8" else 0))
    for asymmetric in (False, True):
        data = given(sheet.rng.standard_normal((2, 3, 24)), "float32")
        options = {"keep_num_dims": True, "asymmetric_quantize_inputs": asymmetric}
        sheet.add("FULLY_CONNECTED", data, kernel, fixed(range(5), "float32"), **options)
    sheet.check()


SHAPES: list[Any] = [
    # Data, weights, whether each is transposed.
    ((5, 8), (8, 6), False, False),
    ((2, 3, 8), (8, 6), False, False),
    ((2, 3, 8), (6, 8), False, True),
    ((8, 3), (8, 6), True, False),
    ((2, 3, 8), (1, 8, 6), False, False),
    ((2, 3, 8), (2, 8, 6), False, False),
    ((4, 3, 8), (4, 6, 8), False, True),
    ((2, 3, 4, 8), (8, 6), False, False),
    ((2, 3, 4, 8), (2, 3, 8, 6), False, False),
    ((2, 8, 3), (2, 8, 6), True, False),
    ((1, 3, 8), (4, 8, 6), False, False),
    ((2, 2, 8), (1, 600, 8), False, True),
    ((0, 3, 8), (8, 6), False, False),
]


@pytest.mark.parametrize(("asymmetric", "shapes"), [(False, SHAPES[1::3]), (True, SHAPES)])
def test_every_element_is_litert_s_of_hybrid_matmul(asymmetric: bool, shapes: list[Any]) -> None:
    sheet = Sheet(1)
    for lhs, rhs, adj_x, adj_y in shapes:
        options = {"version": 4, "adj_x": adj_x, "adj_y": adj_y}
        options["asymmetric_quantize_inputs"] = asymmetric
        sheet.add("BATCH_MATMUL", rows(sheet.rng, *lhs), weights_of(sheet.rng, rhs, 1), **options)
    sheet.check()


def test_more_rows_than_places() -> None:
    # Of tensors alone, not of 128 MB of numbers.
    writer = ModelWriter()
    data, y = (writer.tensor(name, (1 << 24, 2, 1, 1), "float32") for name in "xy")
    w = writer.tensor("w", (1, 1), "int8", NARROW, np.ones((1, 1), np.int8))
    writer.operator("BATCH_MATMUL", [data, w], [y], version=4)
    check_refused(writer.finish([data], [y]), "has more than 16777216 rows")
