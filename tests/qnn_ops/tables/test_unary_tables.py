import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from qnn_ops.arrays import Array
from qnn_ops.tables import unary_tables
from qnn_ops.tables.lookup import Ends
from tests.support.arrays import every_value, full_range
from tests.support.errors import fails
from tests.support.litert import Quantized, litert, single_op
from tvm_qnn.oracle import LiteRtSession

# What a run gives to these ends it with an error if it is negative.
_TABLES: dict[str, tuple[Callable[..., Array], bool]] = {
    "ABS": (unary_tables.absolute_table, False),
    "ELU": (unary_tables.elu_table, False),
    "LOG": (unary_tables.log_table, False),
    "RSQRT": (unary_tables.rsqrt_table, True),
    "SQRT": (unary_tables.sqrt_table, True),
}


def ask(code: str, operand: Quantized, result: Any, **options: Any) -> Array:
    """Run LiteRT's reference kernel; of ELU there is only the one that it runs by default."""
    if code != "ELU":
        return litert(code, [operand], result, **options)
    model = single_op(code, [operand], result, **options)
    (answer,) = LiteRtSession(model, xnnpack=False).run([operand[0]])
    return answer


def check(
    code: str, table_of: Callable[..., Array], dtype: str, *, rooted: bool = False, **options: Any
) -> None:
    rng = np.random.default_rng(3)
    every = every_value(dtype)
    for index in range(60):
        exponents = rng.uniform(-8, 3, 2)
        scales = 2.0 ** (np.round(exponents) if index % 3 == 0 else exponents)
        steps = [float(scale) for scale in scales.astype(np.float32)]
        points = [int(each) for each in full_range(rng, dtype, (2,))]
        data = np.maximum(every, points[0]).astype(dtype) if rooted else every
        encodings = [Quantization.per_tensor(*each) for each in zip(steps, points, strict=True)]
        table = table_of(Ends(steps[0], points[0], steps[1], points[1], dtype))
        operand, result = (data, encodings[0]), ((256,), dtype, encodings[1])
        expected = ask(code, operand, result, **options)
        lowest = int(every[0])
        np.testing.assert_array_equal(table[data.astype(np.int64) - lowest], expected)


@pytest.mark.parametrize("code", list(_TABLES))
def test_tables_equal_litert(code: str) -> None:
    table_of, rooted = _TABLES[code]
    check(code, table_of, "int8", rooted=rooted)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_equals_litert(dtype: str, approximate: bool) -> None:
    table_of = partial(unary_tables.gelu_table, approximate)
    check("GELU", table_of, dtype, approximate=approximate)


def test_negative_integers_equal_litert() -> None:
    data, encoding = every_value("int8"), Quantization.per_tensor(0.5, 3)
    expected = litert("NEG", [(data, encoding)], ((256,), "int8", encoding))
    np.testing.assert_array_equal(unary_tables.negative_table("int8"), expected)


def test_what_has_no_root_is_as_zero() -> None:
    assert unary_tables.sqrt_table(Ends(1.0, 0, 1.0, 5, "int8"))[0] == 5
    assert unary_tables.rsqrt_table(Ends(1.0, 0, 1.0, 5, "int8"))[0] == 127


def test_scales_that_are_too_far_apart() -> None:
    with pytest.raises(QnnError, match="rsqrt needs scales that go together"):
        unary_tables.rsqrt_table(Ends(1e-20, 0, 1e-20, 0, "int8"))
    fails("too far", unary_tables.absolute_table, Ends(1e9, 0, 1e-3, 0, "int8"))


def test_without_a_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Ends(0.03, 0, 0.03, 0, "int8")
    tables = (unary_tables.elu_table, unary_tables.log_table)
    expected = [table(ends) for table in tables]

    def none(_name: object) -> ctypes.CDLL:
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", none)
    for table, wanted in zip(tables, expected, strict=True):
        np.testing.assert_allclose(table(ends), wanted, atol=1)
    by_hand = unary_tables.gelu_table(False, ends)
    assert by_hand[128] == 0
