"""By hand; tests/frontends/tflite/converters/layers/test_float_layers.py compares with LiteRT."""

import numpy as np

from qnn_ops import float_conv2d
from qnn_ops.dialect.registry import Attrs
from qnn_ops.unquantized.float_conv2d import ORDERS, parts_of, runs_of
from tests.support.errors import failing
from tests.support.operators import module_of

PIXEL = np.array([2.0**24, 1, 1, -(2.0**24)], np.float32).reshape(1, 1, 1, 4)
ONES = np.ones((1, 1, 1, 4), np.float32)
IMAGE = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1)


def test_products_are_added_one_by_one() -> None:
    # 2^24 + 1 is 2^24 in float32.
    assert float_conv2d.evaluate(PIXEL, ONES).item() == 0
    assert float_conv2d.evaluate(PIXEL[..., ::-1], ONES).item() == 2


def test_products_are_rounded_first() -> None:
    third = np.float32(1 / 3)
    data = np.array([-third, 3], np.float32).reshape(1, 1, 1, 2)
    kernel = np.array([1, third / 3], np.float32).reshape(1, 1, 1, 2)
    apart = -third + np.float32(3) * np.float32(third / 3)
    assert float_conv2d.evaluate(data, kernel).item() == apart


def test_onnx_runtime_adds_up_parts_by_themselves() -> None:
    pixels, kernel = np.zeros((1, 1, 200, 160), np.float32), np.ones((2, 1, 1, 160), np.float32)
    pixels[..., 0], pixels[..., 100], pixels[..., 130:132] = 2.0**24, 1, 1
    assert float_conv2d.evaluate(pixels, kernel)[0, 0, 0, 0] == 2.0**24
    for order in ORDERS[1:3]:
        assert float_conv2d.evaluate(pixels, kernel, order=order)[0, 0, 0, 0] == 2.0**24 + 2
    # A constant matrix has 256 products in a part, which are added to the bias.
    few = pixels[:, :, :1]
    assert float_conv2d.evaluate(few, kernel, order=ORDERS[3])[0, 0, 0, 0] == 2.0**24
    bias = np.full(2, -(2.0**24), np.float32)
    one = np.ones((1, 1, 1, 1), np.float32)
    third = float_conv2d.evaluate(one / 3, one, bias[:1], order=ORDERS[3])
    assert third.item() == np.float32(1 / 3) + bias[0]
    # A single output channel.
    result = float_conv2d.evaluate(pixels[..., 98:102], kernel[:1, ..., :4], order=ORDERS[1])
    assert result[0, 0, 0, 0] == 1


def test_cuts() -> None:
    assert list(runs_of(11)) == [(0, 4), (4, 4), (8, 2), (10, 1)]
    assert list(runs_of(5)) == [(0, 4), (4, 1)]
    attrs = Attrs(order=ORDERS[1], groups=1)
    cuts = {pixels: parts_of(attrs, (1, 1), 2000, 8, pixels).size for pixels in (2, 30, 64, 200)}
    assert cuts == {2: 1024, 30: 512, 64: 256, 200: 128}


def test_taps_on_padding_add_nothing() -> None:
    kernel = np.full((1, 3, 3, 1), np.inf, np.float32)
    kernel[0, 1, 1] = 1
    kernel[0, 1:, 1:] = 1
    result = float_conv2d.evaluate(IMAGE, kernel, padding=1)
    assert result[0, 0, 0, 0] == 1 + 2 + 4 + 5
    assert result[0, 1, 1, 0] == np.inf


def test_bounds_let_no_number_pass_but_a_nan() -> None:
    data = np.array([-9, 9, np.nan, np.inf], np.float32).reshape(1, 1, 4, 1)
    kernel, bias = np.ones((1, 1, 1, 1), np.float32), np.array([1], np.float32)
    result = float_conv2d.evaluate(data, kernel, bias, low=0.0, high=6.0)
    np.testing.assert_array_equal(result.ravel(), [0, 6, np.nan, 6])


def test_addend_comes_after_the_bias_and_before_the_bounds() -> None:
    data, kernel = np.full((1, 1, 2, 1), 2.0**24, np.float32), np.ones((1, 1, 1, 1), np.float32)
    addend = np.array([1, -(2.0**24)], np.float32).reshape(1, 1, 2, 1)
    result = float_conv2d.evaluate(data, kernel, np.ones(1, np.float32), addend, high=2.0**23)
    assert result.ravel().tolist() == [2.0**23, 0]


test_operands_must_fit = failing(
    lambda operands, attrs: module_of(float_conv2d, operands, **attrs),
    ([IMAGE.astype(np.int8), ONES], {}, "data must be float32"),
    ([IMAGE, ONES], {}, "1 groups of a kernel"),
    ([PIXEL, ONES, np.ones(2, np.float32)], {}, r"bias must be float32 of shape \(1,\)"),
    (
        [PIXEL, ONES, np.ones(1, np.float32), np.ones((1, 1, 2, 1), np.float32)],
        {},
        r"addend must be float32 of the result's shape \(1, 1, 1, 1\)",
    ),
    ([PIXEL, ONES], {"high": np.inf}, "bounds must be finite"),
    ([PIXEL, ONES], {"data_layout": "CNHW"}, "data_layout"),
    ([PIXEL, ONES], {"order": "backward"}, "order"),
    ([IMAGE, np.ones((1, 5, 5, 1), np.float32)], {}, "the window spans 5 pixels"),
)
