from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.dot.plan import dot_plan, prefers_words
from legalize.kernels.conv2d.x86.plan import Packed
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, ISAS, SSE41, Isa
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.test_tiling import make_spec
from tests.support.arrays import full_range
from tests.support.convolutions import changed
from tests.support.definition import accumulators
from tests.support.x86 import each_isa, run_convs

SPEC = ConvSpec(
    1, 4, 4, 6, 1, 2, 16, input_zero_point=10, kernel_dtype="uint8", has_asymmetric_kernel=True
)


def packed_of(
    spec: ConvSpec,
    kernel: Array,
    zero_point: int = 0,
    bias: Array | None = None,
    multiplier: int = 0,
    shift: int = 0,
    isa: Isa = AVX512_VNNI,
) -> Packed:
    return dot_plan(spec, isa).pack(Weights(kernel, zero_point, bias, multiplier, shift))


KERNEL = np.arange(16 * 12, dtype=np.uint8).reshape(16, 1, 2, 6)


def test_bias_takes_up_the_zero_points() -> None:
    zero_point = 130
    bias = np.arange(16, dtype=np.int32)
    packed = packed_of(SPEC, KERNEL, zero_point, bias)
    _, folded, kernel_zero_point = packed.constants
    w = KERNEL.reshape(16, 12).astype(int) - 128
    expected = bias - 10 * w.sum(axis=1) + 12 * 10 * 2
    np.testing.assert_array_equal(folded.reshape(-1), expected)
    assert kernel_zero_point.tolist() == [2]


def test_weights_are_packed_by_k_step_and_lane() -> None:
    packed = packed_of(SPEC, KERNEL, 130)
    weights = packed.constants[0].reshape(3, 16, 4)
    signed = (KERNEL.reshape(16, 12).astype(int) - 128).astype(np.int8)
    np.testing.assert_array_equal(weights.transpose(1, 0, 2).reshape(16, 12), signed)


def test_words_are_packed_by_even_and_odd_bytes_without_zero_point() -> None:
    packed = packed_of(SPEC, KERNEL, 130, isa=AVX2)
    weights, bias, *rest = packed.constants
    assert not rest
    # [K-step, vector, part, lane, byte of the part]
    weights = weights.reshape(3, 2, 2, 8, 2).transpose(1, 3, 0, 4, 2)
    centred = KERNEL.reshape(16, 12).astype(np.int16) - 130
    np.testing.assert_array_equal(bias.reshape(-1), -10 * centred.sum(axis=1))
    np.testing.assert_array_equal(weights.reshape(16, 12), centred)


def test_a_last_k_step_does_not_count_bytes_twice() -> None:
    spec = replace(SPEC, in_channels=3)
    kernel = KERNEL.reshape(-1)[: 16 * 6].reshape(16, 1, 2, 3)
    weights = packed_of(spec, kernel, 130).constants[0].reshape(2, 16, 4)
    signed = (kernel.reshape(16, 6).astype(int) - 128).astype(np.int8)
    np.testing.assert_array_equal(weights[0], signed[:, :4])
    np.testing.assert_array_equal(weights[1], np.pad(signed[:, 4:], ((0, 0), (2, 0))))


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_constants_fit_the_function(isa: Isa) -> None:
    for out_dtype, shift in (("int32", 0), ("int8", -5), ("int8", 2)):
        spec = changed(SPEC, dtype=out_dtype, low=-128, high=127)
        packed = packed_of(spec, KERNEL, 130, None, 1 << 30, shift, isa)
        function = dot_plan(spec, isa).function(packed)
        buffers = function.params[1:-1]
        expected = [(tuple(map(int, buffer.shape)), str(buffer.dtype)) for buffer in buffers]
        assert [(array.shape, str(array.dtype)) for array in packed.constants] == expected


@pytest.mark.parametrize(
    ("isa", "rows", "largest", "dtype"),
    [
        (AVX2, 1, 127, "int8"),
        (SSE41, 1, 127, "int8"),
        (AVX512BW, 1, 127, "int8"),
        (AVX512_VNNI, 1, 127, "int8"),
        # A byte does not hold it.
        (AVX2, 1, 128, "int16"),
        # Several tiles read each weight from the cache, where widening it again would not pay.
        (AVX2, 50, 127, "int16"),
    ],
)
def test_weights_that_are_read_once_stay_bytes(
    isa: Isa, rows: int, largest: int, dtype: str
) -> None:
    spec = replace(SPEC, in_height=1, in_width=1, batch=rows, kernel_width=1)
    kernel = np.full((16, 1, 1, 6), 10 + largest, np.uint8)
    packed = packed_of(spec, kernel, 10, isa=isa)
    assert packed.known == packed.constants[0].dtype == dtype


@each_isa
def test_bytes_give_the_sums_that_words_give(isa: Isa) -> None:
    rng = np.random.default_rng(0)
    kernel = rng.integers(0, 256, (37, 1, 1, 203)).astype(np.uint8)
    spec = replace(SPEC, in_height=1, in_width=1, in_channels=203, kernel_width=1, out_channels=37)
    spec = replace(spec, has_asymmetric_kernel=False)
    data = full_range(rng, "uint8", spec.in_shape)
    assert packed_of(spec, kernel, 128, isa=isa).known == "int8"
    zero = np.zeros(1, np.int32)
    (got,) = run_convs([(spec, data, Weights(kernel, 128, None, zero, zero))], isa)
    np.testing.assert_array_equal(got, accumulators(spec, data, kernel, 128, None))


@pytest.mark.parametrize(
    ("isa", "pixels", "in_channels", "out_channels", "expected"),
    [
        (AVX2, 196, 1024, 256, True),
        # Too few channels read the widened data.
        (AVX2, 196, 1024, 16, False),
        # Each weight is used once: the products do not take the time.
        (AVX2, 1, 1024, 256, False),
        (AVX512_VNNI, 196, 1024, 256, False),
    ],
)
def test_words_where_many_channels_read_the_data(
    isa: Isa, pixels: int, in_channels: int, out_channels: int, expected: bool
) -> None:
    spec = make_spec(pixels, in_channels, out_channels, "uint8")
    assert prefers_words(spec, isa) == expected
