import re
from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.softmax.rules import LEAST_EXPONENTIAL
from qnn_ops import quantized_softmax
from qnn_ops.tables.softmax import exp_table
from tests.support.arm import CORTEX_A15, CORTEX_A72, Core
from tests.support.arrays import full_range
from tests.support.assembly import loops
from tests.support.encodings import encodings
from tests.support.kernels import (
    Call,
    Place,
    check_calls,
    each_register,
    each_table,
    kernels_of,
    lowered,
)

ATTRS = encodings(input=(0.1, 3), output=(1 / 256, -128), out_dtype="int8")


def random_softmax(rng: np.random.Generator, shape: tuple[int, ...], two_values: bool) -> Call:
    dtype, out_dtype = rng.choice(["int8", "uint8"], 2).tolist()
    data = full_range(rng, dtype, shape)
    attrs = encodings(
        input=(float(np.exp2(rng.uniform(-12, 3))), int(full_range(rng, dtype, ()))),
        output=(1 / 256, -128 if out_dtype == "int8" else 0),
        out_dtype=out_dtype,
        beta=float(rng.choice([1.0, 0.3])),
    )
    return Call(quantized_softmax, [data >> 7 if two_values else data], attrs)


@each_table
def test_the_kernel_equals_the_reference(place: Place) -> None:
    rng = np.random.default_rng(1)
    # Long rows of equal values reach sums of 512 and more.
    calls = [
        random_softmax(rng, shape, two)
        for shape in [(1, 1), (3, 4, 5), (2, 1001), (1, 5000), (3, 128), (2, 197)]
        for two in (False, True)
    ]
    # Many short rows are computed a block at a time; the last block overlaps the one before.
    calls += [random_softmax(rng, shape, False) for shape in [(3, 7, 16), (37, 3), (17, 21)]]
    check_calls(place, calls)


@each_table
def test_many_even_rows_equal_the_reference(place: Place) -> None:
    rng = np.random.default_rng(4)
    calls = [
        random_softmax(rng, shape, two)
        for shape in [(64, 4), (5, 13, 4), (65, 8), (3, 43, 16)]
        for two in (False, True)
    ]
    check_calls(place, calls)


@each_register
def test_the_kernel_of_onnx_runtime_equals_the_reference(place: Place) -> None:
    rng = np.random.default_rng(2)
    calls = []
    for shape in [(1, 1), (9, 5), (15, 17), (2, 3, 128), (1, 1000)]:
        for two in (False, True):
            call = random_softmax(rng, shape, two)
            del call.attrs["beta"]
            scale = float(np.float32(rng.choice([1 / 256, 0.004, 1 / 128])))
            changed = {"output_scale": scale, "arithmetic": "onnxruntime"}
            calls.append(replace(call, attrs={**call.attrs, **changed}))
    check_calls(place, calls)


@pytest.mark.parametrize("core", [CORTEX_A72, CORTEX_A15], ids=lambda core: core.name)
def test_only_the_sum_of_a_long_row_is_of_single_values(core: Core) -> None:
    call = Call(quantized_softmax, [np.zeros((1, 1001), np.int8)], {**ATTRS, "input_scale": 0.01})
    (function,) = kernels_of(lowered(call, core.target))
    function = function.with_attr("global_symbol", "kernel")
    found = ["\n".join(loop) for loop in loops(function, core.target)]
    assert len(found) >= 2
    (single,) = (loop for loop in found if not re.search(r"\b[vqd]\d+", loop))
    assert "ldrsb" in single


def test_terms_are_looked_up_as_vectors_where_registers_hold_the_tables() -> None:
    call = Call(quantized_softmax, [np.zeros((8, 197), np.int8)], ATTRS)
    adds = {}
    for mcpu in ("znver4", "cascadelake"):
        (function,) = kernels_of(lowered(call, {"kind": "llvm", "mcpu": mcpu}))
        text = function.with_attr("global_symbol", "kernel").script()
        adds[mcpu] = "llvm.vector.reduce.add" in text
    assert adds == {"znver4": True, "cascadelake": False}


def test_every_result_of_a_long_row_that_is_not_0_is_computed() -> None:
    # Beside one largest value each other one's result is the largest that it can have.
    rng = np.random.default_rng(3)
    for scale in np.exp2(rng.uniform(-9, 0, 40)).tolist():
        attrs = {**ATTRS, "input_scale": scale}
        table = exp_table(scale, 1.0)
        far = table < LEAST_EXPONENTIAL
        data = np.stack([np.full(256, 127), 127 - np.arange(256)], 1).astype(np.int8)
        results = quantized_softmax.evaluate(data, **attrs)
        assert (results[far, 1] == -128).all()


def test_reciprocals_of_many_rows_are_vectors() -> None:
    call = Call(quantized_softmax, [np.zeros((64, 12), np.int8)], ATTRS)
    (function,) = kernels_of(lowered(call, {"kind": "llvm", "mcpu": "znver4"}))
    text = function.with_attr("global_symbol", "kernel").script()
    assert text.count('"int64x16"') >= 6
    assert '"int64"' not in text


def test_words_of_even_rows_are_looked_up_byte_by_byte() -> None:
    call = Call(quantized_softmax, [np.zeros((256, 16), np.int8)], ATTRS)
    permutes = {}
    for mcpu in ("znver4", "cascadelake"):
        target = {"kind": "llvm", "mcpu": mcpu}
        (function,) = kernels_of(lowered(call, target))
        found = loops(function.with_attr("global_symbol", "kernel"), target)
        lines = [line for loop in found for line in loop]
        assert not any("vpgatherdd" in line for line in lines)
        permutes[mcpu] = any(re.search(r"vperm(b|[it]2b)", line) for line in lines)
    assert permutes == {"znver4": True, "cascadelake": False}


@pytest.mark.parametrize(("axis", "mcpu"), [(0, "cascadelake"), (-1, "core2")])
def test_other_axes_and_processors_are_left_to_the_primitives(axis: int, mcpu: str) -> None:
    call = Call(quantized_softmax, [np.zeros((4, 5), np.int8)], {"axis": axis, **ATTRS})
    assert not kernels_of(lowered(call, {"kind": "llvm", "mcpu": mcpu}))
