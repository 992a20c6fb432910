"""MIRROR_PAD, REVERSE_V2 and REVERSE_SEQUENCE."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_mirrors_equal_litert() -> None:
    sheet = Sheet(seed=4)
    data = sheet.random_input((3, 4, 2), "int8", Q)
    result = (ANY, "int8", Q)
    for mode, widths in (
        ("REFLECT", [[2, 1], [0, 3], [1, 1]]),
        ("SYMMETRIC", [[3, 0], [4, 4], [0, 2]]),
    ):
        sheet.operator("MIRROR_PAD", [data, sheet.constant(widths)], result, mode=mode)
    sheet.operator("REVERSE_V2", [data, sheet.constant([1])], result)
    sheet.operator("REVERSE_V2", [data, sheet.constant([-1])], result)
    sheet.check()


def test_paddings_must_be_within_the_data() -> None:
    sheet = Sheet()
    data = sheet.random_input((3, 4), "int8", Q)
    widths = sheet.constant([[3, 0], [0, 0]])
    sheet.operator("MIRROR_PAD", [data, widths], (ANY, "int8", Q), mode="REFLECT")
    with pytest.raises(QnnError, match="paddings 3 and 0 do not fit axis 0"):
        from_tflite(sheet.model())


def test_there_must_be_axes_to_reverse() -> None:
    sheet = Sheet()
    data = sheet.random_input((3, 4), "int8", Q)
    sheet.operator("REVERSE_V2", [data, sheet.constant(np.zeros(0, np.int32))], (ANY, "int8", Q))
    with pytest.raises(QnnError, match="must have axes"):
        from_tflite(sheet.model())


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32"])
def test_reversed_sequences_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=5)
    encoding = {"uint8": Q, "int16": Quantization.per_tensor(0.5, 0)}.get(dtype)
    for shape, along, batch in (((3, 4, 2, 2), 1, 0), ((3, 4, 2, 5), 0, 3), ((2, 6), 1, 0)):
        data = sheet.input(sheet.rng.integers(0, 99, shape).astype(dtype), encoding)
        numbers = sheet.rng.integers(0, shape[along] + 1, shape[batch])
        for lengths in (sheet.input(numbers.astype(np.int64)), sheet.constant(numbers)):
            result = (shape, dtype, encoding)
            sheet.operator(
                "REVERSE_SEQUENCE", [data, lengths], result, seq_dim=along, batch_dim=batch
            )
    sheet.check()


@pytest.mark.parametrize(
    ("lengths", "along", "message"),
    [
        ([1, 5], 1, "outside of 0 to 4"),
        ([1], 1, "lengths for 2 batches"),
        ([1, 1], 0, "axes 0 and 0"),
    ],
)
def test_lengths_must_fit(lengths: list[int], along: int, message: str) -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 4), "uint8", Q)
    operands = [data, sheet.constant(lengths)]
    sheet.operator("REVERSE_SEQUENCE", operands, ((2, 4), "uint8", Q), seq_dim=along)
    with pytest.raises(QnnError, match=message):
        from_tflite(sheet.model())
