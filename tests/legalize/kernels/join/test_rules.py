from typing import Any

import numpy as np
import pytest
import tvm

from legalize.kernels.isa.vectors import vectors_for
from legalize.kernels.isa.x86_vectors import AVX2, SSE41
from legalize.kernels.join.byte_changes import Table
from legalize.kernels.join.kernel import Part, join
from qnn_ops import quantized_concat, quantized_lookup, quantized_relu, requantize
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.kernels import (
    Call,
    Place,
    check_calls,
    each_place,
    each_register,
    each_table,
    kernels_of,
    lowered,
)
from tests.support.operators import module_of
from tests.support.programs import Case
from tvm_qnn import build

AVX2_TARGET = {"kind": "llvm", "mcpu": "haswell"}
SHAPES = [(3, 70), (1,), (15,), (16,), (33,), (64,), (2, 5, 129)]
CHANGE: dict[str, Any] = {"input_zero_point": 5, "output_zero_point": -9, "out_dtype": "int8"}


def random_concat(rng: np.random.Generator, dtype: str, axis: int, widths: list[int]) -> Call:
    """Some inputs as they are, others (uint8 only) through tables."""
    count = len(widths)
    own = rng.integers(0, 2, count) if dtype == "uint8" else np.zeros(count, int)
    inputs = []
    for width in widths:
        shape = [3, 2, 5]
        shape[axis] = width
        inputs.append(full_range(rng, dtype, tuple(shape)))
    attrs = encodings(
        input_scales=[float(np.exp2(rng.uniform(-6, -4))) if o else 0.05 for o in own],
        input_zero_points=[int(rng.integers(0, 128)) if o else 3 for o in own],
        output=(0.05, 3),
        out_dtype=dtype,
        axis=axis,
    )
    return Call(quantized_concat, [inputs], attrs)


@each_register
def test_concatenation(place: Place) -> None:
    rng = np.random.default_rng(1)
    widths = [[64, 96, 32], [1, 7, 2, 31], [65, 200], [16], [33, 15]]
    check_calls(
        place,
        [
            random_concat(rng, dtype, axis, some)
            for some, axis in zip(widths, [2, 0, 1, 2, 2], strict=True)
            for dtype in ("int8", "uint8")
        ],
    )


def test_many_tensors_are_joined_in_steps() -> None:
    """One function of 500 tensors ends the process: TVM writes it with stack for each."""
    rng = np.random.default_rng(7)
    call = random_concat(rng, "int8", 1, [int(width) for width in rng.integers(1, 4, 40)])
    assert len(kernels_of(lowered(call, AVX2_TARGET))) == 3
    library = build(module_of(call.operator, call.operands, **call.attrs), "host")
    expected = quantized_concat.evaluate(call.operands[0], **call.attrs)
    np.testing.assert_array_equal(library.run(*call.operands[0]), expected)


@each_table
@pytest.mark.parametrize("operator", [requantize, quantized_relu], ids=["requantize", "relu"])
def test_functions_of_a_byte(place: Place, operator: Any) -> None:
    rng = np.random.default_rng(2)
    calls = []
    for shape in SHAPES:
        dtype, out_dtype = rng.choice(["int8", "uint8"], 2).tolist()
        scales = np.exp2(rng.uniform(-6, -4, 2))
        # A relu of one scale is none of theirs.
        if shape == (64,) and operator is requantize:
            scales[1] = scales[0]
        attrs = encodings(
            input=(float(scales[0]), int(full_range(rng, dtype, ()))),
            output=(float(scales[1]), int(full_range(rng, out_dtype, ()))),
            out_dtype=out_dtype,
        )
        calls.append(Call(operator, [full_range(rng, dtype, shape)], attrs))
    check_calls(place, calls)


@each_register
def test_moves_between_int8_and_uint8(place: Place) -> None:
    attrs = {"input_scale": 0.5, "input_zero_point": 3, "output_scale": 0.5}
    calls = [
        Call(
            requantize,
            [np.arange(256).astype(np.uint8).view(dtype).reshape(4, 64)[:, :60]],
            {**attrs, "output_zero_point": 3 + shift, "out_dtype": out_dtype},
        )
        for dtype, out_dtype, shift in [
            ("int8", "uint8", 128),
            ("uint8", "int8", -128),
            ("int8", "int8", 0),
        ]
    ]
    check_calls(place, calls)


@each_place
def test_every_value_finds_its_entry(place: Place) -> None:
    rng = np.random.default_rng(3)
    cases, expected = [], []
    for isa in vectors_for(tvm.target.Target(place.target)):
        for size in (1, 2, 8, 16, 31, 64, 256):
            table = full_range(rng, "uint8", (256,))
            count = 256 // size
            values = rng.permutation(256).astype(np.uint8)[: count * size].reshape(count, size)
            function = join(isa, (Part(values.shape, "uint8", Table()),), 1, "uint8")
            inputs = [values, isa.packed_table(table)]
            cases.append(Case(function, inputs, values.shape, "uint8"))
            expected.append(table[values])
    for result, wanted in zip(place.run(cases), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtypes", [("int8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
def test_tables_must_be_constant(dtypes: tuple[str, str]) -> None:
    rng = np.random.default_rng(2)
    data, table = full_range(rng, dtypes[0], (2, 200)), full_range(rng, dtypes[1], (256,))
    call = Call(quantized_lookup, [data, table], {})
    assert not kernels_of(lowered(call, AVX2_TARGET))


@pytest.mark.parametrize(
    ("data", "attrs"),
    [
        (np.zeros((3, 2), np.int8), {"input_scale": [0.1, 0.2]}),
        (np.zeros((3, 2), np.int32), {}),
        (np.zeros((3, 2), np.int8), {"out_dtype": "int32"}),
        (np.zeros((), np.int8), {}),
        (np.zeros((0, 4), np.int8), {}),
    ],
)
def test_other_requantizations_are_left_to_the_primitives(data: Any, attrs: Any) -> None:
    call = Call(requantize, [data], {"input_scale": 0.3, "output_scale": 0.17, **CHANGE, **attrs})
    assert not kernels_of(lowered(call, AVX2_TARGET))


@pytest.mark.parametrize("isa", [AVX2, SSE41], ids=lambda isa: isa.name)
def test_rows_of_a_table_add_up_by_xor(isa: Any) -> None:
    table = full_range(np.random.default_rng(4), "uint8", (256,))
    rows = isa.packed_table(table).reshape(16, 16)
    index = np.arange(256, dtype=np.uint8)
    found = np.zeros(256, np.uint8)
    for number, row in enumerate(rows):
        if number < 8:
            place = (index - np.uint8(16 * number)).astype(np.int8)
        else:
            centred = (index ^ np.uint8(128)).view(np.int8).astype(np.int64)
            place = np.maximum(centred - 16 * (number - 8), -128).astype(np.int8)
        found ^= np.where(place < 0, 0, row[place & 15]).astype(np.uint8)
    np.testing.assert_array_equal(found, table)


def test_a_relu_that_only_clamps_is_left_to_fusion() -> None:
    attrs = {"input_scale": 0.5, "input_zero_point": 3, "output_scale": 0.5}
    others = {"output_zero_point": 131, "out_dtype": "uint8"}
    call = Call(quantized_relu, [np.zeros((2, 64), np.int8)], {**attrs, **others})
    assert not kernels_of(lowered(call, AVX2_TARGET))
