"""Convolutions and products of float32, of all forms that code tells apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from qnn_ops import float_conv2d, float_matmul
from tests.support.kernels import Call

# Data, kernel, whether there is a bias, attributes.
_CONVOLUTIONS: tuple[tuple[tuple[int, ...], tuple[int, ...], bool, dict[str, Any]], ...] = (
    # Units of less than a vector, of several, of several blocks, each with some left.
    ((2, 9, 8, 12), (5, 3, 3, 12), True, {"padding": 1}),
    ((1, 9, 8, 12), (150, 3, 3, 12), False, {"padding": (1, 0, 2, 1), "strides": (2, 1)}),
    ((1, 3, 3, 4), (16, 5, 5, 4), True, {"padding": 2}),  # no window without padding
    ((1, 11, 10, 3), (20, 3, 2, 3), True, {"padding": 2, "dilation": (2, 3), "strides": 2}),
    # All pixels in one row, and one alone.
    ((2, 5, 7, 9), (70, 1, 1, 9), True, {"low": 0.0, "high": 6.0}),
    ((1, 1, 1, 40), (150, 1, 1, 40), True, {"low": 0.0}),
    ((1, 9, 8, 12), (38, 3, 3, 6), True, {"padding": 1, "groups": 2}),
    # Depthwise: channels of several vectors, of less than one, and several units of each.
    ((1, 9, 17, 37), (37, 3, 3, 1), True, {"padding": 1, "groups": 37, "low": -1.0, "high": 1.0}),
    ((1, 9, 17, 3), (3, 5, 3, 1), False, {"padding": 2, "groups": 3, "strides": 2}),
    ((1, 9, 9, 5), (10, 3, 3, 1), True, {"padding": 1, "groups": 5, "dilation": (1, 2)}),
    ((1, 9, 9, 1), (1, 3, 3, 1), True, {"padding": 1}),
)
_PRODUCTS = (((3, 40, 30), (3, 30, 50)), ((2, 1, 5, 30), (3, 30, 37)), ((13, 21), (21, 83)))


_LONG: tuple[Any, ...] = (
    # Parts of 16 and of 128 channels, of 128 products, and of four, some left of each.
    ((1, 7, 6, 40), (20, 3, 3, 40), True, {}),
    ((1, 7, 14, 40), (20, 3, 3, 40), True, {"padding": 1, "strides": (2, 1)}),
    ((1, 1, 30, 300), (20, 1, 1, 300), True, {}),
    ((1, 7, 6, 19), (1, 3, 3, 19), False, {}),
    ((1, 7, 6, 12), (4, 3, 3, 3), True, {"groups": 4}),
)


def _drawn(cases: Sequence[Any], **attributes: Any) -> list[Call]:
    rng = np.random.default_rng(3)

    def draw(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    return [
        Call(
            float_conv2d,
            [draw(*data), draw(*kernel), draw(kernel[0]) if biased else None],
            {**attrs, **attributes},
        )
        for data, kernel, biased, attrs in cases
    ]


def convolutions() -> list[Call]:
    return _drawn(_CONVOLUTIONS)


def residual_sums() -> list[Call]:
    """With a tensor that is added, all pixels in one row and not, and depthwise."""
    rng, calls = np.random.default_rng(5), _drawn([_CONVOLUTIONS[n] for n in (0, 4, 5, 7)])
    shapes = (call.operator.evaluate(*call.operands, **call.attrs).shape for call in calls)
    addends = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return [
        Call(call.operator, [*call.operands, addend], call.attrs)
        for call, addend in zip(calls, addends, strict=True)
    ]


def long_sums() -> list[Call]:
    """Of which ONNX Runtime adds up parts by themselves."""
    return _drawn(_LONG)


def padded_sums() -> list[Call]:
    """In ONNX Runtime's order, with padding and copies of channels."""
    return _drawn((_CONVOLUTIONS[1], _CONVOLUTIONS[9]), order="onnxruntime")


def products() -> list[Call]:
    rng = np.random.default_rng(4)
    return [
        Call(float_matmul, [rng.normal(size=shape).astype(np.float32) for shape in pair], {})
        for pair in _PRODUCTS
    ]
