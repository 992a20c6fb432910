"""Models of one operator that has weights."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.sparsity import BITS
from tests.operators.example import IMAGE, Example

WEIGHTS = (
    *("int8 × int8", "int8 × int4", "int8 × int2"),
    *("int16 × int8", "int16 × int4", "int16 × int2"),
    *("float32 × int8", "float32 × int4", "float32 × int2"),
)
"""Types of data and weights."""


class Weighted(Example):
    """A model of an operator with weights."""

    def __init__(self, kind: str, version: int | None = None) -> None:
        dtype, self.weights_dtype = kind.split(" × ")
        super().__init__(dtype, version)

    def weights(self, shape: Sequence[int], axis: int, *, per_channel: bool = True) -> int:
        """Add constant weights."""
        count = shape[axis] if per_channel else 1
        scales = np.full(count, 0.02, np.float32)
        quantization = Quantization(scales, np.zeros(count, np.int64), axis)
        if self.weights_dtype in BITS:
            highest = 2 ** (BITS[self.weights_dtype] - 1)
            numbers = self.rng.integers(1 - highest, highest, tuple(shape)).astype(np.int8)
            return self.packed(numbers, self.weights_dtype, quantization)
        array = self.rng.integers(-127, 128, tuple(shape)).astype(np.int8)
        return self.constant(array, quantization)


def _layer(code: str, weights: Sequence[int], axis: int, shape: Sequence[int]) -> Any:
    def make(example: Weighted) -> None:
        kernel = example.weights(weights, axis)
        options = {} if code == "FULLY_CONNECTED" else _LAYER
        data = example.data((3, 4) if code == "FULLY_CONNECTED" else IMAGE)
        bias = {"int8": "int32", "int16": "int64"}.get(example.dtype, "float32")
        operands = [data, kernel, example.bias(np.ones(shape[-1], bias))]
        if code == "TRANSPOSE_CONV":
            operands = [example.constant(list(shape)), kernel, data]
        example.operator(code, operands, example.result(shape), **options)

    return make


_LAYER = {"padding": "VALID", "stride_h": 1, "stride_w": 1}


def _weighted_matmul(example: Weighted) -> None:
    operands = [example.data((2, 3, 4)), example.weights((2, 4, 5), 2, per_channel=False)]
    example.operator("BATCH_MATMUL", operands, example.result((2, 3, 5)))


def _weighted_lookup(example: Weighted) -> None:
    operands = [example.indices([2, 0]), example.weights((4, 6), 0, per_channel=False)]
    example.operator("EMBEDDING_LOOKUP", operands, example.result((2, 6)))


_MAKE_WEIGHTED: dict[str, Callable[[Weighted], None]] = {
    "BATCH_MATMUL": _weighted_matmul,
    "CONV_2D": _layer("CONV_2D", (6, 2, 2, 4), 0, (1, 3, 3, 6)),
    "DEPTHWISE_CONV_2D": _layer("DEPTHWISE_CONV_2D", (1, 2, 2, 4), 3, (1, 3, 3, 4)),
    "EMBEDDING_LOOKUP": _weighted_lookup,
    "FULLY_CONNECTED": _layer("FULLY_CONNECTED", (5, 4), 0, (3, 5)),
    "TRANSPOSE_CONV": _layer("TRANSPOSE_CONV", (6, 2, 2, 4), 0, (1, 5, 5, 6)),
}

WEIGHTED_CODES = tuple(sorted(_MAKE_WEIGHTED))


def weighted_example(code: str, kind: str, version: int | None = None) -> Weighted:
    """Return a model of one operator on data and weights of two types."""
    made = Weighted(kind, version)
    _MAKE_WEIGHTED[code](made)
    return made
