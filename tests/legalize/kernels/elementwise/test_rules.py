from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st

from qnn_ops import (
    quantized_add,
    quantized_multiply,
    quantized_squared_difference,
    quantized_subtract,
)
from qnn_ops.dialect.registry import Operator
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.kernels import (
    Call,
    Place,
    check_calls,
    each_product,
    each_register,
    kernels_of,
    lowered,
)

OPERATORS = [quantized_add, quantized_subtract, quantized_multiply, quantized_squared_difference]
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((1, 5, 7, 64), (1, 5, 7, 64)),
    ((3, 70), (3, 70)),
    ((31,), (31,)),
    ((5, 1), (5, 1)),
    ((1, 7, 7, 40), (1, 1, 1, 40)),
    ((2, 1, 1, 40), (2, 7, 7, 40)),
    ((2, 3, 3, 1), (2, 3, 3, 72)),
    ((2, 7, 5), ()),
    ((5, 1, 6), (4, 1)),
]


def random_call(
    rng: np.random.Generator,
    operator: Operator[Any],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    powers: bool = False,
) -> Call:
    """Return a call whose results mostly fill their range; with ``powers``, many are ties."""
    dtypes = rng.choice(["int8", "uint8"], 3).tolist()
    exponents = rng.uniform(-7, -4, 3)
    if operator is quantized_multiply:
        exponents[2] = exponents[:2].sum() + rng.uniform(5, 9)
    if operator is quantized_squared_difference:
        exponents[2] = 2 * exponents[:2].max() + rng.uniform(5, 9)
    scales = np.exp2(np.round(exponents) if powers else exponents)
    attrs = encodings(
        lhs=(float(scales[0]), int(full_range(rng, dtypes[0], ()))),
        rhs=(float(scales[1]), int(full_range(rng, dtypes[1], ()))),
        output=(float(scales[2]), int(full_range(rng, dtypes[2], ()))),
        out_dtype=dtypes[2],
    )
    if rng.integers(2):
        attrs["out_min"], attrs["out_max"] = np.sort(full_range(rng, dtypes[2], (2,))).tolist()
    operands = [full_range(rng, dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=False)]
    return Call(operator, operands, attrs)


def every_pair(
    rng: np.random.Generator, operator: Operator[Any], powers: bool, **attrs: Any
) -> Call:
    call = random_call(rng, operator, ((), ()), powers)
    every = [np.arange(256).astype(np.uint8).view(array.dtype) for array in call.operands]
    both = np.meshgrid(*every, indexing="ij")
    return Call(
        operator, [np.ascontiguousarray(values) for values in both], {**call.attrs, **attrs}
    )


@each_product
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_shapes_that_broadcast_and_odd_sizes(place: Place, operator: Operator[Any]) -> None:
    rng = np.random.default_rng(1)
    check_calls(place, [random_call(rng, operator, shapes) for shapes in SHAPES])


@each_product
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_pair_of_values(place: Place, operator: Operator[Any]) -> None:
    rng = np.random.default_rng(2)
    check_calls(place, [every_pair(rng, operator, powers) for powers in [False, True] * 3])


# A sum whose terms the reference rounds in a way that no affine form follows.
IRREGULAR = encodings(lhs=(0.02, 3), rhs=(0.031, 7), output=(0.04, 12))
FAR: dict[str, Any] = {"output_scale": 2.0**-25}


@each_product
def test_sums_without_an_affine_form(place: Place) -> None:
    rng = np.random.default_rng(3)
    operators = [quantized_add, quantized_subtract]
    check_calls(
        place,
        [every_pair(rng, operator, False, **IRREGULAR) for operator in operators]
        + [every_pair(rng, operator, True, **FAR) for operator in operators],
    )


@each_register
def test_products_that_float32_cannot_tell(place: Place) -> None:
    rng = np.random.default_rng(4)
    check_calls(place, [every_pair(rng, quantized_multiply, False, **FAR)])


REAL_OPERATORS = [quantized_add, quantized_multiply]


def real(call: Call, model_dtype: str) -> Call:
    """Return the call in ONNX Runtime's arithmetic."""
    attrs = {**call.attrs, "arithmetic": "onnxruntime", "model_dtype": model_dtype}
    return Call(call.operator, call.operands, attrs)


@each_register
@pytest.mark.parametrize("model_dtype", ["int8", "uint8"])
@pytest.mark.parametrize("operator", REAL_OPERATORS, ids=lambda operator: operator.name)
def test_every_pair_of_values_in_float32(
    place: Place, operator: Operator[Any], model_dtype: str
) -> None:
    rng = np.random.default_rng(7)
    calls = [every_pair(rng, operator, powers) for powers in [False, True] * 3]
    calls += [random_call(rng, operator, shapes) for shapes in SHAPES]
    calls = [real(call, model_dtype) for call in calls]
    if operator is quantized_add and place.name in ("sse4.1", "cortex-a15"):
        # Without a product and sum of one rounding, those are left that no integers follow.
        calls = [call for call in calls if kernels_of(lowered(call, place.target))]
        assert len(calls) >= 8
    check_calls(place, calls)


@pytest.mark.parametrize("operator", REAL_OPERATORS, ids=lambda operator: operator.name)
def test_scales_beyond_float32_are_left_to_the_primitives(operator: Operator[Any]) -> None:
    call = real(every_pair(np.random.default_rng(8), operator, False), "uint8")
    call.attrs.update(output_scale=1e-37, lhs_scale=1e20, rhs_scale=1e20)
    assert not kernels_of(lowered(call, {"kind": "llvm", "mcpu": "haswell"}))


@pytest.mark.parametrize("shapes", [((), ()), ((0, 4), (4,)), ((3, 0), (3, 0))])
def test_nothing_and_scalars_are_left_to_the_primitives(shapes: Any) -> None:
    call = random_call(np.random.default_rng(5), quantized_add, shapes)
    assert not kernels_of(lowered(call, {"kind": "llvm", "mcpu": "haswell"}))


def test_a_processor_without_the_instructions_uses_the_primitives() -> None:
    call = random_call(np.random.default_rng(6), quantized_multiply, ((64,), (64,)))
    assert not kernels_of(lowered(call, {"kind": "llvm", "mcpu": "core2"}))


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_equal_calls_share_a_function(seed: int) -> None:
    call = random_call(np.random.default_rng(seed), quantized_multiply, ((9, 33), (9, 33)))
    first, second = (
        kernels_of(lowered(call, {"kind": "llvm", "mcpu": "haswell"})) for _ in range(2)
    )
    tvm.ir.assert_structural_equal(first, second)


@each_product
@pytest.mark.parametrize(
    "operator",
    [quantized_add, quantized_subtract, quantized_multiply],
    ids=lambda each: each.name,
)
def test_every_pair_of_xnnpack(place: Place, operator: Operator[Any]) -> None:
    rng = np.random.default_rng(9)
    calls = [
        every_pair(rng, operator, powers, arithmetic="xnnpack") for powers in [False, True] * 3
    ]
    check_calls(place, calls)
