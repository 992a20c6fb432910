from dataclasses import replace

import numpy as np

from legalize.kernels.conv2d.arm.pack import pack_conv2d
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.isa.arm import DOTPROD, I8MM, NEON, LongProducts
from qnn_ops.arrays import Array
from tests.support.convolutions import SPEC

DENSE = replace(
    SPEC, in_height=1, in_width=4, in_channels=8, kernel_height=1, kernel_width=1, out_channels=4
)
KERNEL = np.arange(32, dtype=np.int8).reshape(4, 1, 1, 8)


def test_weights_are_ordered_as_the_products_read_them() -> None:
    dot, matrix, long = (pack_conv2d(DENSE, Weights(KERNEL), isa) for isa in (DOTPROD, I8MM, NEON))
    rows = KERNEL.reshape(4, 8)
    np.testing.assert_array_equal(dot.constants[0][:16], rows[:, :4].ravel())
    np.testing.assert_array_equal(matrix.constants[0][:16], rows[:2].ravel())
    np.testing.assert_array_equal(long.constants[0][:8], rows[:, :2].ravel())
    np.testing.assert_array_equal(long.constants[0][8:16], rows[:, 2:4].ravel())


def asymmetric(kernel: Array, zero_point: int) -> Ready:
    spec = replace(DENSE, kernel_dtype="uint8", has_asymmetric_kernel=zero_point != 128)
    return pack_conv2d(spec, Weights(kernel.astype(np.uint8), zero_point), DOTPROD)


def test_the_zero_point_takes_the_sums_of_the_data() -> None:
    kernel = np.full((4, 1, 1, 8), 100)
    kernel[:2, 0, 0, 0] = 0, 255
    packed = asymmetric(kernel, 100)
    assert packed.build.keywords["has_sums"]
    assert packed.constants[2].tolist() == [100 - 128]


def test_weights_do_without_the_lowest_value_where_they_can() -> None:
    kernel = np.full((4, 1, 1, 8), 0)
    kernel[1] = 240
    packed = asymmetric(kernel, 60)
    assert packed.constants[0].min() == -127
    assert packed.constants[2].tolist() == [60 - 127]


def test_two_products_are_added_in_16_bits_unless_both_can_be_the_largest() -> None:
    def has_sums_of_two(kernel: Array) -> bool:
        _, isa, *_ = pack_conv2d(DENSE, Weights(kernel), NEON).build.args
        assert isinstance(isa, LongProducts)
        return isa.has_sums_of_two

    kernel = KERNEL.copy()
    kernel[0, 0, 0, :2] = -128  # in different lanes
    assert has_sums_of_two(kernel)
    kernel[0, 0, 0, 2] = -128
    assert not has_sums_of_two(kernel)
