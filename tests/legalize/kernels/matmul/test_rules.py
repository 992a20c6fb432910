from collections.abc import Container
from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.isa.x86 import ISAS
from qnn_ops import quantized_dense, quantized_matmul
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.kernels import (
    PLACES,
    VBMI,
    Call,
    Place,
    at,
    check_calls,
    each_product,
    kernels_of,
    lowered,
    x86_place,
)
from tests.support.x86 import PROCESSORS

AVX2 = {"kind": "llvm", "mcpu": "haswell"}
BYTE_PRODUCTS = [x86_place(isa.name, PROCESSORS[isa][0]) for isa in ISAS if isa.has_byte_products]


def random_product(
    rng: np.random.Generator,
    outer: tuple[int, ...],
    sizes: tuple[int, int, int],
    *,
    transposed: bool,
    dtypes: tuple[str, str, str] = ("int8", "int8", "int8"),
    points: tuple[int, int] | None = None,
    shared: bool = False,
) -> Call:
    rows, depth, columns = sizes
    ends = (columns, depth) if transposed else (depth, columns)
    operands = [
        full_range(rng, dtypes[0], (*outer, rows, depth)),
        full_range(rng, dtypes[1], ends if shared else (*outer, *ends)),
    ]
    left, right = points or (int(full_range(rng, dtype, ())) for dtype in dtypes[:2])
    attrs = encodings(
        lhs=(0.05, left),
        rhs=(0.04 * float(rng.uniform(0.5, 2)), right),
        output=(0.002 * 90 * 90 * float(np.sqrt(depth)) / 60, int(full_range(rng, dtypes[2], ()))),
        out_dtype=dtypes[2],
        transpose_rhs=transposed,
    )
    return Call(quantized_matmul, operands, attrs)


KNOWN: Container[int] = ()
OPEN = range(1 << 20)

each_size = pytest.mark.parametrize(
    ("place", "opened"),
    [
        *(
            pytest.param(each, KNOWN, id=each.name, marks=each.marks)
            for each in PLACES
            if each.name != VBMI
        ),
        *(
            pytest.param(each, OPEN, id=f"open-{each.name}", marks=each.marks)
            for each in BYTE_PRODUCTS
        ),
    ],
)
"""Run a test at each place for known sizes, and where there are kernels for them, for open ones."""


@pytest.mark.parametrize("transposed", [False, True])
@each_size
def test_products(place: Place, opened: Container[int], transposed: bool) -> None:
    rng = np.random.default_rng(1)
    sizes = [
        ((2, 2), (9, 32, 64)),
        # Depths that K-steps do not divide, and columns that vectors do not.
        ((2,), (7, 29, 101)),
        ((1,), (3, 6, 3)),
        ((), (130, 12, 17)),
    ]
    if opened:
        sizes += [((2,), (5, 1, 130)), ((1,), (1, 1, 1))]
    calls = [random_product(rng, *each, transposed=transposed) for each in sizes]
    check_calls(place, [replace(call, opened=opened) for call in calls])


@each_size
def test_zero_points_and_dtypes(place: Place, opened: Container[int]) -> None:
    rng = np.random.default_rng(2)
    cases: list[tuple[tuple[str, str, str], tuple[int, int]]] = [
        (("uint8", "int8", "uint8"), (0, -128)),
        (("int8", "uint8", "int8"), (-128, 255)),
        (("int8", "int8", "int8"), (127, 0)),
        (("uint8", "uint8", "int8"), (128, 128)),
    ]
    calls = [
        random_product(rng, (2,), (5, 11, 21), transposed=True, dtypes=dtypes, points=points)
        for dtypes, points in cases
    ]
    check_calls(place, [replace(call, opened=opened) for call in calls])


@each_size
def test_products_with_a_float_epilogue(place: Place, opened: Container[int]) -> None:
    rng = np.random.default_rng(8)
    calls = []
    for transposed, dtype in ((False, "int8"), (True, "uint8")):
        dtypes = (dtype, dtype, dtype)
        call = random_product(rng, (2,), (7, 30, 37), transposed=transposed, dtypes=dtypes)
        # Powers of two, so that ties abound.
        scales = {"lhs_scale": 0.25, "rhs_scale": 0.5, "output_scale": 256.0}
        for changed in ({}, scales):
            attrs = {**call.attrs, **changed, "rounding": "float32"}
            calls.append(replace(call, attrs=attrs, opened=opened))
    if place.name == "cortex-a15":  # it does not round floats to the nearest
        assert not any(kernels_of(lowered(call, place.target)) for call in calls)
    else:
        check_calls(place, calls)


@each_size
def test_the_largest_products(place: Place, opened: Container[int]) -> None:
    call = random_product(
        np.random.default_rng(3), (1,), (3, 66, 20), transposed=False, points=(5, -7)
    )
    operands = [np.full_like(array, -128) for array in call.operands]
    check_calls(place, [replace(call, operands=operands, opened=opened)])


@each_size
def test_rows_that_share_a_matrix(place: Place, opened: Container[int]) -> None:
    rng = np.random.default_rng(4)
    call = random_product(rng, (2, 3), (4, 9, 17), transposed=True, shared=True)
    check_calls(place, [replace(call, opened=opened)])


@at(BYTE_PRODUCTS)
def test_open_rows_of_known_matrices(place: Place) -> None:
    rng = np.random.default_rng(9)
    calls = [
        random_product(rng, (2,), (rows, 9, 70), transposed=rows == 1, shared=True)
        for rows in (1, 7, 33)
    ]
    check_calls(place, [replace(call, opened=(2, 1, 7, 33)) for call in calls])


@at(BYTE_PRODUCTS)
def test_long_sums_of_an_open_depth(place: Place) -> None:
    rng = np.random.default_rng(10)
    calls = []
    for depth in (4, 16_300, 20_000):
        call = random_product(rng, (), (2, depth, 3), transposed=False)
        full = [
            np.full_like(each, end) for each, end in zip(call.operands, (-128, 127), strict=True)
        ]
        calls += [replace(call, operands=each, opened=(depth,)) for each in (call.operands, full)]
    check_calls(place, calls)


@each_product
def test_dense_layers_whose_weights_vary(place: Place) -> None:
    rng = np.random.default_rng(5)
    operands = [full_range(rng, "int8", shape) for shape in ((2, 7, 30), (19, 30))]
    attrs = encodings(
        input=(0.05, 3),
        kernel=(0.02, -4),
        output=(0.9, 9),
        out_dtype="int8",
        out_min=-20,
        rounding="tflite",
    )
    check_calls(place, [Call(quantized_dense, operands, attrs)])


@pytest.mark.parametrize("depth", [3, 9000])
def test_what_is_left_to_the_primitives(depth: int) -> None:
    rng = np.random.default_rng(6)
    call = random_product(rng, (2,), (2, depth, 3), transposed=True)
    assert not kernels_of(lowered(call, AVX2))


def test_matrices_that_are_broadcast_are_left_to_the_primitives() -> None:
    rng = np.random.default_rng(7)
    call = random_product(rng, (3,), (2, 8, 3), transposed=True)
    operands = [call.operands[0][:1], call.operands[1]]
    assert not kernels_of(lowered(Call(call.operator, operands, call.attrs), AVX2))
