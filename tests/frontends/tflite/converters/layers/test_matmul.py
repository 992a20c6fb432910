from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.models import differing_tensors
from tests.support.tflite import (
    ANY,
    Operand,
    Sheet,
    fixed,
    given,
    one,
    random_quantization,
    refused,
    x,
)


def transposed(shape: tuple[int, ...], is_transposed: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if is_transposed else shape


def add_product(
    sheet: Sheet,
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    adjoint: tuple[bool, bool] = (False, False),
    make: Any = given,
) -> None:
    rng = sheet.rng
    operands = [
        each(
            full_range(rng, "int8", transposed(shape, turned)),
            "int8",
            random_quantization(rng, "int8"),
        )
        for each, shape, turned in zip((given, make), (lhs, rhs), adjoint, strict=True)
    ]
    result = (ANY, "int8", random_quantization(rng, "int8", 0.05 * 70 * 70 / 100))
    options = {"adj_x": adjoint[0], "adj_y": adjoint[1]}
    sheet.add("BATCH_MATMUL", *operands, gives=result, **options)


def test_products_equal_litert() -> None:
    sheet = Sheet(seed=60)
    for adjoint in ((False, False), (True, False), (False, True), (True, True)):
        add_product(sheet, (2, 3, 5, 7), (2, 3, 7, 4), adjoint)
        add_product(sheet, (2, 5, 7), (7, 4), adjoint, make=fixed)
    add_product(sheet, (4, 1, 5, 7), (3, 7, 2))
    add_product(sheet, (5, 7), (7, 2))
    sheet.check()
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []


@pytest.mark.parametrize("is_quantized", [False, True])
def test_sums_of_products_equal_litert(is_quantized: bool) -> None:
    sheet = Sheet(seed=62)
    rng = sheet.rng
    for adjoint in ((False, False), (True, False), (False, True), (True, True)):
        for lhs, rhs, make in (
            ((2, 1, 5, 7), (3, 7, 4), given),
            ((2, 5, 7), (7, 4), fixed),
            ((5, 300), (300, 2), given),
            ((2, 0), (0, 3), given),
        ):
            shapes = transposed(lhs, adjoint[0]), transposed(rhs, adjoint[1])
            arrays = [full_range(rng, "int8", shape) for shape in shapes]
            # LiteRT ignores it.
            encoding = random_quantization(rng, "int8") if is_quantized else None
            operands = given(arrays[0], "int8", encoding), make(arrays[1], "int8", encoding)
            options = {"adj_x": adjoint[0], "adj_y": adjoint[1]}
            sheet.add("BATCH_MATMUL", *operands, gives="int32", **options)
    sheet.check()


def test_a_constant_matrix_makes_a_dense_layer() -> None:
    sheet = Sheet(seed=61)
    add_product(sheet, (2, 5, 7), (7, 4), make=fixed)
    mod, params = from_tflite(sheet.model())
    assert "R.qnn.quantized_dense(" in mod.script()
    assert [value.shape for value in params.values()] == [(4, 7)]


def test_rows_without_elements() -> None:
    sheet = Sheet(seed=63)
    for outer in ((), (2,)):
        add_product(sheet, (*outer, 3, 0), (0, 4), (bool(outer), False))
        add_product(sheet, (*outer, 3, 0), (0, 4), make=fixed)
        operands = [x(*shape, dtype="float32") for shape in ((*outer, 3, 0), (0, 4))]
        sheet.add("BATCH_MATMUL", *operands)
    sheet.check()


_DATA = x(2, 3)


def by_packed_weights(data: str, result: str) -> Sheet:
    encoding = Quantization.per_tensor(0.1, 0)
    weights = Operand(((4, 6), "int4", encoding), np.ones((4, 6), np.int8), is_constant=True)
    return one(
        "BATCH_MATMUL", x(2, 4, dtype=data), weights, gives=(ANY, result, encoding), version=4
    )


test_packed_weights_are_refused_as_in_litert = refused(
    *(
        ("is int4, which LiteRT does not unpack there", by_packed_weights(*types))
        for types in (("int8", "int32"), ("int8", "int8"), ("float32", "float32"))
    ),
    error=UnsupportedOperatorError,
)
test_operands_that_have_no_product = refused(("have no product", one("BATCH_MATMUL", _DATA, _DATA)))
