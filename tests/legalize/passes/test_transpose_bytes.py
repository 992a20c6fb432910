from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.kernel import IS_KERNEL
from legalize.kernels.transpose import Axis, merged_axes
from legalize.passes.transpose_bytes import TransposeBytes
from tests.support.arrays import full_range
from tests.support.kernels import Place, each_register
from tests.support.modules import module
from tests.support.programs import Case

HASWELL = tvm.target.Target({"kind": "llvm", "mcpu": "haswell"})

SERVED: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    # Heads of attention, and back.
    ((1, 9, 4, 32), (0, 2, 1, 3)),
    ((1, 4, 9, 35), (0, 2, 1, 3)),
    # Squares, whole and not.
    ((32, 48), (1, 0)),
    ((2, 17, 3, 21), (0, 2, 3, 1)),
    ((18, 2, 3, 16), (3, 2, 1, 0)),
]
OTHERS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((1, 9, 4, 15), (0, 2, 1, 3)),
    ((8, 48), (1, 0)),
    ((1, 1, 40, 1), (0, 2, 1, 3)),
    ((0, 20, 30), (0, 2, 1)),
]


def transposed(shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> tvm.IRModule:
    inputs = {"x": relax.TensorType(shape, dtype)}
    return module(inputs, lambda x: R.permute_dims(x, list(order)))


def kernels(mod: tvm.IRModule) -> list[tuple[str, Any]]:
    return [
        (variable.name_hint, function)
        for variable, function in mod.functions_items()
        if function.attrs is not None and IS_KERNEL in function.attrs
    ]


@each_register
def test_every_byte_finds_its_place(place: Place) -> None:
    rng = np.random.default_rng(1)
    cases, expected = [], []
    for number, (shape, order) in enumerate(SERVED):
        dtype = ("int8", "uint8")[number % 2]
        data = full_range(rng, dtype, shape)
        mod = TransposeBytes(tvm.target.Target(place.target))(transposed(shape, order, dtype))
        ((name, function),) = kernels(mod)
        expected.append(data.transpose(order))
        function = function.with_attr("global_symbol", name)
        cases.append(Case(function, [data], expected[-1].shape, dtype))
    for result, wanted in zip(place.run(cases), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(("shape", "order"), OTHERS)
def test_small_pieces_are_left_to_tvm(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    assert not kernels(TransposeBytes(HASWELL)(transposed(shape, order, "int8")))


def test_other_dtypes_and_processors_are_left_to_tvm() -> None:
    shape, order = SERVED[0]
    assert not kernels(TransposeBytes(HASWELL)(transposed(shape, order, "int16")))
    plain = tvm.target.Target("llvm")
    assert not kernels(TransposeBytes(plain)(transposed(shape, order, "int8")))


def test_neighbours_that_stay_so_are_one_axis() -> None:
    assert merged_axes((2, 3, 4, 5), (2, 3, 0, 1)) == [Axis(20, 1, 6), Axis(6, 20, 1)]
    assert merged_axes((2, 1, 7), (1, 0, 2)) == [Axis(14, 1, 1)]
