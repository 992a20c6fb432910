from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm

from legalize.kernels.float_conv2d.spec import Axis, FloatConv, Span
from legalize.kernels.float_conv2d.tiling import tile_of
from legalize.kernels.ir.sums import tile_size
from legalize.kernels.isa.vectors import vectors_for
from legalize.lower import lower
from qnn_ops import float_conv2d
from qnn_ops.unquantized.float_conv2d import ORDERS
from tests.support.arm import CORTEX_A72
from tests.support.assembly import loops
from tests.support.float_sums import convolutions, long_sums, padded_sums, residual_sums
from tests.support.kernels import (
    FUSING,
    Call,
    Place,
    at,
    check_calls,
    each_register,
    kernels_of,
    lowered,
)
from tests.support.operators import module_of, run

CONSTANTS = ("kernel", "bias")
HOST = {"kind": "llvm", "mcpu": "haswell"}


def is_kernel_alone(call: Call) -> bool:
    """Tell whether nothing moves the data before: neither copies of channels nor rows joined."""
    data, (units, *window, inputs) = call.operands[0], call.operands[1].shape
    copies = inputs == 1 < call.attrs.get("groups", 1) < units
    return not copies and (window != [1, 1] or data.shape[1] == 1)


def fits(call: Call) -> bool:
    """Tell whether the window fits without padding."""
    (rows, columns), size = call.operands[1].shape[1:3], call.operands[0].shape[1:3]
    is_padded = call.attrs.get("padding", 0) != 0
    return is_padded or (rows <= size[0] and columns <= size[1])


@each_register
def test_kernels_equal_the_reference(place: Place) -> None:
    calls = [*filter(is_kernel_alone, convolutions()), *residual_sums()]
    check_calls(place, calls, CONSTANTS)


@each_register
def test_rows_and_weights_that_do_not_fit_caches(place: Place) -> None:
    shapes = ((1, 40, 40, 8), (120, 1, 1, 8)), ((1, 3, 9, 512), (260, 1, 1, 512))
    rng = np.random.default_rng(2)
    calls = [
        Call(float_conv2d, [rng.normal(size=each).astype(np.float32) for each in operands], {})
        for operands in shapes
    ]
    check_calls(place, calls, CONSTANTS)


@pytest.mark.parametrize("order", ORDERS[1:])
@at(FUSING)
def test_kernels_of_onnx_runtime_s_orders(place: Place, order: str) -> None:
    calls = [
        replace(call, attrs={**call.attrs, "order": order})
        for call in (*filter(is_kernel_alone, convolutions()), *long_sums())
    ]
    if order != ORDERS[2]:  # their padding is data, which a copy adds
        calls = [replace(call, attrs={**call.attrs, "padding": 0}) for call in calls]
    check_calls(place, [call for call in calls if fits(call)], CONSTANTS)


@pytest.mark.parametrize("call", [*convolutions(), *padded_sums()], ids=lambda call: "")
def test_kernels_of_a_run(call: Call) -> None:
    arrays = [each for each in call.operands if each is not None]
    mod = lower(module_of(call.operator, call.operands, **call.attrs), tvm.target.Target(HOST))
    assert kernels_of(mod)
    expected = call.operator.evaluate(*call.operands, **call.attrs)
    np.testing.assert_array_equal(run(mod, arrays, HOST), expected)


@each_register
def test_numbers_that_are_none(place: Place) -> None:
    rng = np.random.default_rng(1)
    data = rng.normal(size=(1, 6, 7, 4)).astype(np.float32)
    data[0, 3, 3, :2] = np.nan, np.inf
    kernel = rng.normal(size=(20, 3, 3, 4)).astype(np.float32)
    kernel[:, 0, 0, 0] = np.inf
    call = Call(float_conv2d, [data, kernel], {"padding": 1, "low": -2.0, "high": 2.0})
    check_calls(place, [call, replace(call, attrs={"padding": 1})], CONSTANTS)


@pytest.mark.parametrize(
    ("target", "product", "fused"),
    [(HOST, "vmulps", "vfmadd"), (CORTEX_A72.target, "fmul", "fmla")],
    ids=["x86", "arm"],
)
def test_no_product_is_fused_with_its_sum(target: Any, product: str, fused: str) -> None:
    for call in convolutions()[:8:7]:
        (kernel,) = kernels_of(lowered(call, target, CONSTANTS))
        text = str(loops(kernel.with_attr("global_symbol", "kernel"), target))
        assert product in text
        assert fused not in text


def test_windows_that_read_no_padding() -> None:
    assert Axis(9, 9, 3, before=1).inner == (1, 8)
    assert Axis(9, 5, 3, stride=2, before=1).inner == (1, 4)
    assert Axis(3, 3, 5, before=2).inner == (2, 2)
    assert Axis(9, 7, 3).inner == (0, 7)


def test_tiles_that_read_padding_are_apart() -> None:
    assert Axis(9, 7, 3).tiles(0, 7, 4) == ([0, 3], [], 4)
    assert Axis(20, 20, 3, before=1).tiles(0, 20, 5) == ([5, 10], [0, 15], 5)
    assert Axis(3, 3, 5, before=2).tiles(0, 3, 6) == ([], [0], 3)


def test_taps_that_pixels_share() -> None:
    whole = (0, 1, 2)
    assert Axis(9, 7, 3).spans(2, 3) == [Span(0, 3, whole)]
    assert Axis(9, 9, 3, before=1).spans(0, 3) == [Span(0, 1, (1, 2)), Span(1, 3, whole)]
    assert Axis(9, 9, 3, before=1).spans(6, 3) == [Span(0, 2, whole), Span(2, 3, (0, 1))]
    assert Axis(2, 4, 3, before=4).spans(0, 1) == []


def test_rows_stay_in_a_cache_if_the_result_is_wide() -> None:
    def rows_of(size: int, channels: int, units: int, addend: bool = False) -> int:
        axis = Axis(size, size, 1)
        spec = FloatConv(1, axis, axis, channels, units, has_addend=addend).in_long_rows()
        assert spec.pixels == size**2
        return spec.rows.count

    assert rows_of(56, 256, 64) == 1
    assert rows_of(14, 256, 1024) == 1  # one block stays in a cache, all weights do not
    assert rows_of(56, 64, 256) == 8
    assert rows_of(56, 64, 256, addend=True) == 14
    assert rows_of(10, 64, 256) == 1


def test_tiles_that_compute_little_twice() -> None:
    assert [tile_size(pixels, 6) for pixels in (1, 5, 6, 7, 12, 49)] == [1, 5, 6, 4, 6, 5]


def test_tiles_of_registers() -> None:
    isa = vectors_for(tvm.target.Target({"kind": "llvm", "mcpu": "skylake-avx512"}))[0]

    def tile(size: int, channels: int, units: int, window: int = 1) -> tuple[int, int]:
        axis = Axis(size, size, window, before=window // 2)
        return tile_of(isa, FloatConv(1, axis, axis, channels, units))

    assert tile(1, 40, 200) == (8, 1)  # one pixel has as many vectors as there are registers for
    assert tile(7, 20, 64, 3) == (2, 7)  # a row is one tile, nothing is computed twice
    assert tile(13, 20, 192, 3) == (3, 7)
    assert tile(24, 40, 16)[1] == 12
    assert tile(24, 512, 16)[1] == 7  # pixels that share places in a cache
    assert tile(8, 4096, 64, 5)[0] == 1  # much for one sum: a narrow block stays in a cache
