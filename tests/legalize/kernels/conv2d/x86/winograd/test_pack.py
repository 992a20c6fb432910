import numpy as np

from legalize.kernels.conv2d.x86.tiling import lane_channels
from legalize.kernels.conv2d.x86.winograd.pack import lay_out_transformed
from legalize.kernels.conv2d.x86.winograd.plan import cut
from legalize.kernels.conv2d.x86.winograd.transform import transform_weights
from legalize.kernels.isa.x86 import AVX2
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.support.convolutions import changed


def test_each_weight_is_where_the_kernel_reads_it() -> None:
    # A ragged vector, and a block of one vector.
    spec = changed(sized(6, 6, 16, 36, 3), dtype="uint8")
    isa = AVX2
    plan = cut(spec, isa)
    assert plan is not None
    lanes = lane_channels(spec, isa, plan.tiling)
    rng = np.random.default_rng(0)
    kernel = rng.integers(-255, 256, (36, 3, 3, 16))
    packed = lay_out_transformed(plan, kernel, lanes)
    weights = transform_weights(plan.transform, kernel)
    assert packed.dtype == np.int16
    assert packed.size == lanes.size * 16 * 16
    for section in plan.tiling:
        for block in range(section.blocks):
            first_vector = section.first_vector + block * section.nr
            size = section.nr * 8 * 16 * 16
            start = first_vector * 8 * 16 * 16
            read = packed[start : start + size].reshape(16, 8, section.nr, 8, 2)
            for vector in range(section.nr):
                for lane, channel in enumerate(lanes[first_vector + vector]):
                    own = read[:, :, vector, lane].reshape(16, 16)
                    wanted = weights[channel] if channel >= 0 else np.zeros((16, 16))
                    np.testing.assert_array_equal(own, wanted)
