from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.x86.pool import MAX_TAPS, divisors
from legalize.lower import lower
from qnn_ops import QnnError, quantized_pool2d
from tests.support.arrays import full_range
from tests.support.operators import module_of, run
from tests.support.vnni import TARGET, needs_vnni


def test_products_divide_every_sum() -> None:
    table = divisors(MAX_TAPS).astype(np.int64)
    for taps in range(2, MAX_TAPS + 1):
        multiplier, shift, half, is_even, pixels = table[taps]
        sums = np.arange(257 * taps)
        np.testing.assert_array_equal((sums * multiplier >> 16) >> shift, sums // taps)
        assert (half, is_even, pixels) == (taps // 2, taps % 2 == 0, taps)


def lowered(data: Any, attrs: dict[str, Any], mcpu: str = "cascadelake") -> tvm.IRModule:
    mod = module_of(quantized_pool2d, [data], **attrs)
    return lower(mod, tvm.target.Target({"kind": "llvm", "mcpu": mcpu}))


def uses_kernel(mod: tvm.IRModule) -> bool:
    return "call_tir" in str(mod["main"].script())


@st.composite
def poolings(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    window = [draw(st.sampled_from([1, 2, 3, 5])) for _ in range(2)]
    padding = [draw(st.integers(0, taps - 1)) for taps in window * 2]
    size = [
        max(taps - before - after, 1) + draw(st.integers(0, 5))
        for taps, before, after in zip(window, padding[:2], padding[2:], strict=True)
    ]
    channels = draw(st.sampled_from([4, 12, 28, 32, 64, 65, 127, 192, 256, 300, 512]))
    data = full_range(rng, dtype, (draw(st.integers(1, 2)), *size, channels))
    if draw(st.booleans()):
        data = data & 1  # many ties
    attrs: dict[str, Any] = {
        "pool_type": draw(st.sampled_from(["max", "avg"])),
        "pool_size": window,
        "strides": [draw(st.integers(1, 2)) for _ in range(2)],
        "padding": padding,
        "layout": "NHWC",
        "origin": draw(st.sampled_from([0, 127, int(full_range(rng, dtype, ()))])),
    }
    if dtype == "uint8" and draw(st.booleans()):
        attrs["origin"] = 128
    if draw(st.booleans()):
        attrs["rounding"] = "half_even"
    if draw(st.booleans()):
        attrs["count_include_pad"] = True
    if draw(st.booleans()):
        attrs["out_min"], attrs["out_max"] = np.sort(full_range(rng, dtype, (2,))).tolist()
    return data, attrs


@settings(max_examples=40, deadline=None)
@given(poolings())
def test_the_kernel_equals_the_reference(case: tuple[Any, dict[str, Any]]) -> None:
    data, attrs = case
    try:
        expected = quantized_pool2d.evaluate(data, **attrs)
    except QnnError:  # a window of padding alone
        return
    # It has no instruction of its own, so that any processor can run it.
    np.testing.assert_array_equal(run(lowered(data, attrs), [data], "llvm"), expected)


@needs_vnni
@pytest.mark.parametrize("pool_type", ["max", "avg"])
@pytest.mark.parametrize("shape", [(1, 35, 35, 288), (1, 8, 8, 1280)])
def test_large_poolings_are_kernels(pool_type: str, shape: tuple[int, ...]) -> None:
    data = full_range(np.random.default_rng(4), "uint8", shape)
    attrs: dict[str, Any] = {
        "pool_type": pool_type,
        "pool_size": 3,
        "padding": 1,
        "layout": "NHWC",
        "origin": 128,
    }
    mod = lowered(data, attrs)
    assert uses_kernel(mod)
    expected = quantized_pool2d.evaluate(data, **attrs)
    np.testing.assert_array_equal(run(mod, [data], TARGET), expected)


@pytest.mark.parametrize(
    ("change", "mcpu", "expected"),
    [
        ({}, "cascadelake", True),
        ({}, "haswell", False),
        ({"layout": "NCHW"}, "cascadelake", False),
        ({"pool_size": 1}, "cascadelake", False),
        ({"pool_size": 1, "pool_type": "max"}, "cascadelake", True),
        ({"pool_size": 12}, "cascadelake", False),
        ({"pool_size": 12, "pool_type": "max"}, "cascadelake", True),
        ({"padding": 2}, "cascadelake", False),
    ],
)
def test_what_is_served(change: dict[str, Any], mcpu: str, expected: bool) -> None:
    attrs = {"pool_type": "avg", "pool_size": 3, "layout": "NHWC", **change}
    mod = lowered(np.zeros((1, 16, 16, 16), np.uint8), attrs, mcpu)
    assert uses_kernel(mod) == expected


def test_few_odd_channels_are_left_to_the_primitives() -> None:
    attrs = {"pool_type": "max", "pool_size": 2, "layout": "NHWC"}
    assert not uses_kernel(lowered(np.zeros((1, 8, 8, 3), np.int8), attrs))
