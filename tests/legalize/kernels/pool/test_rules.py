from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.isa.x86_vectors import AVX2
from legalize.kernels.kernel import SAME_CODE
from legalize.kernels.pool import kernel, rules
from legalize.kernels.pool.kernel import pool
from legalize.kernels.pool.spec import PoolSpec
from qnn_ops import QnnError, quantized_pool2d
from tests.support.arrays import full_range
from tests.support.kernels import (
    ARM_PLACES,
    Call,
    Place,
    check_calls,
    each_register,
    kernels_of,
    lowered,
)
from tests.support.operators import run
from tests.support.x86 import runs_here

HASWELL = {"kind": "llvm", "mcpu": "haswell"}


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


@pytest.mark.skipif(not runs_here("haswell"), reason="the processor has no AVX2")
@settings(max_examples=15, deadline=None)
@given(poolings())
def test_the_kernel_equals_the_reference(case: tuple[Any, dict[str, Any]]) -> None:
    data, attrs = case
    try:
        expected = quantized_pool2d.evaluate(data, **attrs)
    except QnnError:  # a window of padding alone
        return
    mod = lowered(Call(quantized_pool2d, [data], attrs), HASWELL)
    np.testing.assert_array_equal(run(mod, [data], HASWELL), expected)


def pooling(
    rng: np.random.Generator, pool_type: str, shape: tuple[int, ...], window: Any, **attrs: Any
) -> Call:
    dtype = str(rng.choice(["int8", "uint8"]))
    origin = int(rng.choice([0, 127, int(full_range(rng, dtype, ()))]))
    shared = {"pool_type": pool_type, "pool_size": window, "layout": "NHWC", "origin": origin}
    return Call(quantized_pool2d, [full_range(rng, dtype, shape)], {**shared, **attrs})


@pytest.mark.parametrize("is_shared", [False, True])
@each_register
def test_every_instruction_set(
    place: Place, monkeypatch: pytest.MonkeyPatch, *, is_shared: bool
) -> None:
    if is_shared and place in ARM_PLACES:
        pytest.skip("only functions of x86 are shared")
    monkeypatch.setattr(rules, "shares_code", lambda *_: is_shared)
    rng = np.random.default_rng(5)
    cases: list[tuple[tuple[int, ...], Any, dict[str, Any]]] = [
        # Windows of three columns slide.
        ((1, 9, 7, 80), 3, {"padding": 1}),
        ((1, 5, 3, 12), [2, 3], {"padding": [0, 0, 0, 2], "strides": [2, 1]}),
        ((1, 11, 4, 16), [9, 3], {"padding": [2, 1, 2, 1]}),
        ((2, 5, 9, 33), 2, {"strides": 2, "out_min": 3, "out_max": 100}),
        ((1, 7, 7, 300), 7, {}),
        ((2, 60, 21, 130), 3, {"padding": [1, 2, 1, 0], "strides": [2, 1]}),
        ((1, 6, 5, 12), 3, {"padding": [0, 1, 2, 1], "strides": [1, 2]}),
    ]
    calls = [
        pooling(rng, pool_type, shape, window, **attrs)
        for pool_type in ("max", "avg")
        for shape, window, attrs in cases
    ]
    even = {"padding": 1, "rounding": "half_even", "count_include_pad": True}
    check_calls(place, [*calls, pooling(rng, "avg", (1, 6, 7, 20), 2, **even)])


@pytest.mark.parametrize("writes_each", [False, True])
def test_poolings_of_many_sizes_have_one_function(
    monkeypatch: pytest.MonkeyPatch, *, writes_each: bool
) -> None:
    def forget() -> None:
        pool.cache_clear()
        monkeypatch.setattr(kernel, "_SHARED", {})

    def code(shape: tuple[int, int, int, int], **change: Any) -> str:
        if writes_each:
            forget()
        attrs = {"pool_type": "avg", "window": (3, 3), "strides": (1, 1), "padding": (1, 1)}
        spec = PoolSpec(
            shape, shape, "uint8", **{**attrs, "bounds": (0, 255), "origin": 0, **change}
        )
        return str(pool(AVX2, spec, is_shared=True).attrs[SAME_CODE])

    forget()
    sizes = [(1, 9, 7, 64), (1, 5, 5, 768), (1, 4, 20, 128)]
    assert len(set(map(code, sizes))) == 1
    others = [
        code((2, 9, 7, 64)),
        code((1, 9, 7, 32)),  # one vector at a time
        code((1, 60, 60, 768)),  # several tasks
        code((1, 9, 7, 64), origin=3),
        code((1, 9, 7, 64), window=(3, 5), padding=(1, 2)),
        code((1, 9, 7, 64), pool_type="max"),
    ]
    assert len({code(sizes[0]), *others}) == 7


@each_register
def test_averages_of_large_images(place: Place) -> None:
    rng = np.random.default_rng(6)
    cases: list[tuple[tuple[int, ...], tuple[int, int], dict[str, Any]]] = [
        ((1, 33, 33, 40), (33, 33), {}),
        ((2, 12, 11, 5), (12, 11), {"origin": 77, "out_min": 3, "out_max": 99}),
        ((1, 16, 16, 16), (18, 17), {"padding": [1, 1, 1, 0]}),
    ]
    calls = [
        pooling(rng, "avg", shape, window, **{"origin": 0, **attrs})
        for shape, window, attrs in cases
    ]
    # Many ties.
    ties = [Call(call.operator, [call.operands[0] & 1], call.attrs) for call in calls]
    check_calls(place, [*calls, *ties])


@pytest.mark.parametrize(
    ("change", "mcpu", "expected"),
    [
        ({}, "cascadelake", True),
        ({}, "haswell", True),
        ({}, "nehalem", True),
        ({}, "core2", False),
        ({"pool_size": 1}, "cascadelake", False),
        ({"pool_size": 1, "pool_type": "max"}, "cascadelake", True),
        ({"pool_size": 12}, "cascadelake", False),
        ({"pool_size": 12, "pool_type": "max"}, "cascadelake", True),
        ({"padding": 2}, "cascadelake", False),
    ],
)
def test_what_is_served(change: dict[str, Any], mcpu: str, expected: bool) -> None:
    attrs = {"pool_type": "avg", "pool_size": 3, "layout": "NHWC", **change}
    call = Call(quantized_pool2d, [np.zeros((1, 16, 16, 16), np.uint8)], attrs)
    assert bool(kernels_of(lowered(call, {"kind": "llvm", "mcpu": mcpu}))) == expected


def test_few_odd_channels_are_left_to_the_primitives() -> None:
    attrs = {"pool_type": "max", "pool_size": 2, "layout": "NHWC"}
    call = Call(quantized_pool2d, [np.zeros((1, 8, 8, 3), np.int8)], attrs)
    assert not kernels_of(lowered(call, HASWELL))
