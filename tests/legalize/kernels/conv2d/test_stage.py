from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.conv2d import stage as module
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.conv2d.stage import Sizes, can_share, stage
from legalize.kernels.kernel import SAME_CODE
from tests.support.arrays import full_range
from tests.support.convolutions import changed
from tests.support.x86 import run_on

SPEC = ConvSpec(2, 4, 5, 8, 1, 1, 16, input_zero_point=7, output=OutputStage("uint8", 0, 0, 255))


@settings(max_examples=25)
@given(
    staged_dtype=st.sampled_from(["uint8", "int8", "int16"]),
    dtype=st.sampled_from(["uint8", "int8"]),
    size=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 9)),
    channels=st.sampled_from([1, 2, 3, 4, 7, 16, 33, 48]),
    padding=st.tuples(*[st.integers(0, 3)] * 4),
    zero_point=st.integers(-128, 127),
)
def test_pads_and_changes_signedness(
    staged_dtype: str,
    dtype: str,
    size: tuple[int, int, int],
    channels: int,
    padding: tuple[int, int, int, int],
    zero_point: int,
) -> None:
    middle = {"uint8": 128, "int8": 0}
    offset = 0 if staged_dtype == "int16" else middle[staged_dtype] - middle[dtype]
    batch, height, width = size
    spec = replace(
        SPEC,
        batch=batch,
        in_height=height,
        in_width=width,
        in_channels=channels,
        padding=padding,
        in_dtype=dtype,
        input_zero_point=zero_point + middle[dtype],
        staged_dtype=staged_dtype,
    )
    data = full_range(np.random.default_rng(0), dtype, spec.in_shape)
    top, left, bottom, right = padding
    expected = np.pad(
        (data.astype(np.int64) + offset).astype(staged_dtype),
        ((0, 0), (top, bottom), (left, right), (0, max(0, spec.k_step - channels))),
        constant_values=zero_point + middle[dtype] + offset,
    )
    assert spec.staged_shape == expected.shape
    sizes = np.array(Sizes.known(spec), np.int32)
    for is_shared in {False, can_share(spec)}:
        function = stage(spec, is_shared=is_shared)
        inputs = [data, sizes] if is_shared else [data]
        staged = run_on("x86-64", function, inputs, expected.shape, staged_dtype)
        np.testing.assert_array_equal(staged, expected)


@pytest.mark.parametrize("writes_each", [False, True])
def test_data_of_many_sizes_has_one_function(
    monkeypatch: pytest.MonkeyPatch, *, writes_each: bool
) -> None:
    def code(**change: object) -> str:
        if writes_each:
            monkeypatch.setattr(module, "_SHARED", {})
        spec = changed(replace(SPEC, in_channels=16), **change)
        return str(stage(spec, is_shared=True).attrs[SAME_CODE])

    alike: list[dict[str, object]] = [
        {"padding": (1, 0, 2, 3)},
        {"batch": 1, "in_height": 9, "in_width": 7, "in_channels": 48},
        {"input_zero_point": 3},
    ]
    assert {code(**change) for change in alike} == {code()}
    others: list[dict[str, object]] = [
        {"in_dtype": "int8"},
        {"staged_dtype": "int16"},
        {"in_height": 200, "in_width": 200},  # several tasks
    ]
    assert len({code(), *(code(**change) for change in others)}) == 4


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, False),
        ({"in_dtype": "int8"}, True),
        ({"in_dtype": "int8", "staged_dtype": "int8"}, False),
        ({"staged_dtype": "int8"}, True),
        ({"staged_dtype": "int16"}, True),
        ({"padding": (0, 0, 0, 1)}, True),
        ({"in_channels": 5}, False),
        ({"in_channels": 3}, True),
        ({"in_channels": 3, "kernel_width": 2}, False),
        ({"in_channels": 3, "kernel_width": 2, "dilation": (1, 2)}, True),
    ],
)
def test_needs_staging(change: dict[str, object], expected: bool) -> None:
    assert changed(SPEC, **change).needs_staging is expected


def test_tasks_share_the_rows_of_images() -> None:
    spec = replace(SPEC, in_height=200, in_width=200, in_channels=16, padding=(2, 1, 0, 3))
    data = full_range(np.random.default_rng(0), spec.in_dtype, spec.in_shape)
    sizes = Sizes.known(spec)
    assert sizes.tasks > 1
    kind = spec.staged_shape, spec.staged_dtype
    inputs = [data, np.array(sizes, np.int32)]
    shared = run_on("x86-64", stage(spec, is_shared=True), inputs, *kind)
    np.testing.assert_array_equal(shared, run_on("x86-64", stage(spec), [data], *kind))
