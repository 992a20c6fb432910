"""A model of one operator under way."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

DTYPES = ("int4", "int8", "uint8", "int16", "int32", "int64", "bool", "float32")
"""Types of the tensors that an operator computes with."""

IMAGE = (1, 4, 4, 4)
_ENDS = {"int4": 0, "int8": 0, "uint8": 128, "int16": 0}
_QUANTIZED = ("int4", "int8", "uint8", "int16")


class Example(Sheet):
    """A model under way, most of whose tensors are of one type."""

    def __init__(self, dtype: str, version: int | None = None) -> None:
        super().__init__()
        self.dtype, self.version = dtype, version

    def operator(self, code: str, operands: Sequence[int], *outputs: Any, **options: Any) -> int:
        """Add the operator, of that version."""
        return super().operator(code, operands, *outputs, version=self.version, **options)

    def encoding(self, scale: float = 0.05, point: int | None = None) -> Quantization | None:
        """Return a scale and a zero point, counted from the middle of the range."""
        if self.dtype not in _QUANTIZED:
            return None
        middle = _ENDS[self.dtype]
        return Quantization.per_tensor(scale, middle if point is None else middle + point)

    def numbers(self, shape: Sequence[int], dtype: str) -> Any:
        """Draw nonzero numbers, few of them equal."""
        if dtype == "bool":
            return self.rng.random(tuple(shape)) < 0.5
        if dtype == "float32":
            return self.rng.uniform(0.1, 2, tuple(shape)).astype(dtype)
        if dtype == "int4":
            return self.rng.integers(1, 8, tuple(shape)).astype(np.int8)
        if dtype in _QUANTIZED:
            return np.maximum(full_range(self.rng, dtype, tuple(shape)), _ENDS[dtype] + 1)
        return self.rng.integers(1, 30, tuple(shape)).astype(dtype)

    def bias(self, array: Any, quantization: Quantization | None = None) -> int:
        """Add a constant of the type of the tensors."""
        if self.dtype == "int4" and array.dtype.name in ("int4", "int8"):
            return self.packed(array.astype(np.int8), self.dtype, quantization or self.encoding())
        return super().bias(array, quantization)

    def data(self, shape: Sequence[int] = IMAGE) -> int:
        """Add an input."""
        numbers, encoding = self.numbers(shape, self.dtype), self.encoding()
        if self.dtype == "int4":
            return self.narrow(numbers, self.dtype, encoding)
        return self.input(numbers, encoding)

    def result(self, shape: Sequence[int] = IMAGE, encoding: Quantization | None = None) -> Any:
        """Describe an output of the same type."""
        return tuple(shape), self.dtype, encoding or self.encoding()

    def indices(self, values: Any, dtype: str = "int32") -> int:
        """Add an input of indices."""
        return self.input(np.asarray(values, dtype))
