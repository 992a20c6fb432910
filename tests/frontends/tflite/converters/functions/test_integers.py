"""Bitwise operators, shifts, operators of StableHLO on integers, and BITCAST."""

from itertools import product

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential.graphs import OTHERS, QUANTIZED
from tests.differential.single import single
from tests.support.steps import compiled
from tests.support.tflite import ANY, Sheet, given, one, refused, x

test_bits_equal_litert = compiled(
    single("BITWISE_XOR", "RIGHT_SHIFT"), dtypes=(*QUANTIZED, "int32"), count=6
)
test_operators_of_stablehlo_equal_litert = compiled(
    single(*(f"STABLEHLO_{name}" for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"))),
    dtypes=(*QUANTIZED, *OTHERS),
    count=10,
)


def test_bits_without_a_reference_kernel() -> None:
    sheet = Sheet(seed=15)
    for dtype in ("int8", "uint8", "int16", "int32", "int64", "bool"):
        data = x(3, 9, dtype=dtype)
        sheet.add("STABLEHLO_AND", data, x(3, 9, dtype=dtype))
        if dtype in ("int8", "int16", "int32"):
            counts = given(sheet.rng.integers(0, 32, (3, 9)), dtype, data.kind[2])
            sheet.add("STABLEHLO_SHIFT_LEFT", data, counts)
    sheet.check_default()
    sheet = one("STABLEHLO_SHIFT_LEFT", given([3] * 4, "int32"), given([-1, 31, 32, 2], "int32"))
    assert sheet.run().tolist() == [0, -(2**31), 0, 12]


TYPES = ("int8", "uint8", "int16", "int32", "int64")


def test_integers_read_as_others_equal_litert() -> None:
    sheet = Sheet(seed=3)
    for source, dtype in product(TYPES, TYPES):
        parts = max(np.dtype(dtype).itemsize // np.dtype(source).itemsize, 1)
        shape = (2, 3, parts) if parts > 1 else (2, 3)
        sheet.add("BITCAST", x(*shape, dtype=source, encoding=None), gives=dtype)
    for dtype in ("float32", "bool"):
        sheet.add("BITCAST", x(4, dtype=dtype))
    sheet.check()


def test_bits_of_floats_and_bytes_equal_litert_s() -> None:
    sheet = Sheet(seed=5)
    reals = sheet.rng.normal(0, 1, (4, 2)).astype(np.float32)
    reals[0] = [-0.0, np.inf]
    data = sheet.input(reals)
    for dtype in (*TYPES, "float32"):
        sheet.operator("BITCAST", [data], (ANY, dtype, None))
        parts = (2,) if dtype == "int64" else (4,)
        # Numbers whose bits are also ones of float32.
        bits = reals.view(dtype).reshape(-1, *parts)
        if np.dtype(dtype).itemsize < 4:
            bits = reals.view(dtype).reshape(-1, 4 // np.dtype(dtype).itemsize)
        sheet.operator("BITCAST", [sheet.input(bits)], (ANY, "float32", None))
    sheet.check()
    result = (ANY, "int8", Quantization.per_tensor(0.1, -121))
    one("BITCAST", x(1, 9, dtype="uint8"), gives=result).check()


test_what_is_refused = refused(
    ("from float32 to bool", one("BITCAST", x(3, dtype="float32"), gives="bool")),
    (r"has shape \(3,\), needs 2 at its end", one("BITCAST", x(3, dtype="float32"), gives="int64")),
    (r"has shape \(3,\), needs 4 at its end", one("BITCAST", x(3), gives="int32")),
    ("from int32, int16 to int32", one("BITWISE_XOR", x(3, dtype="int32"), x(3, dtype="int16"))),
    (r"shapes \(2, 3\) and \(3,\) differ", one("STABLEHLO_AND", x(2, 3), x(3))),
    *(
        ("has 3 inputs, needs 2", one(code, *[x(3, dtype="int32")] * 3))
        for code in ("BITWISE_XOR", "RIGHT_SHIFT", "STABLEHLO_AND", "STABLEHLO_SHIFT_LEFT")
    ),
)
