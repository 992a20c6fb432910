"""Sums of the data in each pixel's window, which a kernel with a zero point needs."""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import (
    DWORD,
    Buffer,
    Index,
    Vector,
    get_lanes,
    local_vector,
    set_lanes,
)
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.isa.x86_instructions import broadcast_bytes, dot_bytes, sum_lanes


def window_sum(spec: ConvSpec, isa: Isa, source: Buffer, origin: Index) -> Vector:
    """Write the sum of a window of the staged data, whose first byte lies at ``origin``.

    vpdpbusd, which the instruction set must have, adds with weights of one, over as many bytes of a
    run at a time as fit: that takes 1 / out_channels of the convolution's own products.
    """
    widths = (s for s in (64, 32, 16) if s <= min(spec.run_length, isa.lanes * DWORD))
    size = next(widths, DWORD)
    lanes = max(size // 4, 4)
    whole, rest = divmod(spec.run_length, size)

    def load(offset: Index) -> Vector:
        if size == 4:
            return broadcast_bytes(source, offset, lanes)
        return source[T.ramp(offset, 1, size)]

    def add(offset: Index, first: int) -> None:
        """Add the bytes of a vector, except for the first ones, which were added before."""

        def constant(number: int) -> Vector:
            return T.broadcast(T.int8(number), 4 * lanes)

        position = T.ramp(T.int8(0), T.int8(1), 4 * lanes)
        if size == 4:
            position = T.bitwise_and(position, constant(3))
        # One where position >= first. A comparison would be plainer, but TVM's analyser takes no
        # constant vector of booleans, and meets it where kernels of one function share it.
        is_new = T.max(T.min(position - constant(first - 1), constant(1)), constant(0))
        value = dot_bytes(get_lanes(acc, lanes), load(offset), is_new, lanes)
        set_lanes(acc, value, lanes)

    acc = local_vector(lanes)
    set_lanes(acc, T.broadcast(T.int32(0), lanes), lanes)
    with T.serial(spec.kernel_height) as ky, T.serial(spec.runs_per_row) as kx:
        run = spec.run_start(ky, kx)
        with T.serial(whole) as i:
            add(origin + run + i * size, 0)
        if rest:
            add(origin + run + spec.run_length - size, size - rest)
    # Every lane has the whole sum of four broadcast bytes.
    return acc[0] if size == 4 else sum_lanes(get_lanes(acc, lanes), lanes)
