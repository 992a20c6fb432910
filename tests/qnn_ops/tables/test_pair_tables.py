"""Tables of functions of two 8-bit values, and of quotients of two int16 values."""

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError
from qnn_ops.tables.pair_tables import LOWEST_EXPONENT, quotient_table, quotient_tables_int16
from tests.support.arrays import every_value, full_range
from tests.support.errors import fails
from tests.support.litert import litert


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quotients_equal_litert(dtype: str) -> None:
    rng = np.random.default_rng(6)
    every = every_value(dtype)
    low, high = int(every[0]), int(every[-1])
    for index in range(40):
        exponents = rng.uniform(-8, 3, 3)
        exponents[2] = exponents[0] - exponents[1] + rng.uniform(-8, 12)
        scales = (2.0 ** (np.round(exponents) if index % 3 == 0 else exponents)).astype(np.float32)
        points = [int(each) for each in full_range(rng, dtype, (3,))]
        pairs = [(float(scale), point) for scale, point in zip(scales, points, strict=True)]
        table = quotient_table(pairs[0], pairs[1], pairs[2], dtype, (low, high))
        divisors = np.delete(every, points[1] - low)
        lhs = np.repeat(every.reshape(256, 1), 255, axis=1)
        encodings = [Quantization.per_tensor(*pair) for pair in pairs]
        operands = [(lhs, encodings[0]), (divisors.reshape(1, 255), encodings[1])]
        expected = litert("DIV", operands, ((256, 255), dtype, encodings[2]))
        np.testing.assert_array_equal(np.delete(table, points[1] - low, axis=1), expected)
        assert (table[:, points[1] - low] == points[2]).all()


def test_scales_that_do_not_go_together() -> None:
    with pytest.raises(QnnError, match="too many for TFLite's shifts"):
        quotient_table((1.0, 0), (1e-5, 0), (1e-5, 0), "int8", (-128, 127))


def test_parts_of_a_quotient() -> None:
    tables = quotient_tables_int16(0.5, 0.25, 1.0)
    assert (tables.multiplier, tables.shift) == (1 << 30, 2)
    # 5 / 3: five has 28 bits to spare, and one third is 2/3 of a half.
    assert tables.lifted[2**15 + 5] == 5 << 28
    assert tables.headroom[[2**15 + 5, 2**15 - 4, 2**15 - 5]].tolist() == [28, 29, 28]
    place = 2**15 + 3
    assert tables.bits[place] == 1
    assert abs(tables.inverse[place] / 2**31 - 2 / 3) < 1e-8
    assert tables.sign[[2**15 - 3, 2**15, place]].tolist() == [-1, 0, 1]


def test_processors_shift_by_the_last_bits_of_a_count() -> None:
    tables = quotient_tables_int16(0.5, 0.25, 1.0)
    places = np.array([0, 3, 31, 32, 65, -1]) - LOWEST_EXPONENT
    assert tables.count[places].tolist() == [0, 3, 31, 0, 1, 31]
    assert tables.mask[places].tolist() == [0, 7, 2**31 - 1, -1, 1, -1]


def test_scales_must_go_together() -> None:
    fails("the scales do not go together", quotient_tables_int16, 1.0, 1e-20, 1.0)
