"""Adjacent copies of the data of each output pixel, which turn a convolution into a 1 × 1 one.

AMX's tiles then hold only output pixels, for all strides. Short runs share a chunk, and each row of
a tile begins with a cache line.
"""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import first_byte
from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import Buffer, Index
from legalize.kernels.isa.amx import ROW_BYTES

# A distance of pixels that puts too many of them into the same set of the cache.
_BAD_PITCH = 1024


def pitch_of(length: int) -> int:
    """Return the bytes from one copy to the next: cache lines, or a half or quarter of one.

    Args:
        length: bytes that a pixel reads.
    """
    for size in (ROW_BYTES // 4, ROW_BYTES // 2):
        if length <= size:
            return size
    pitch = -(-length // ROW_BYTES) * ROW_BYTES
    return pitch + ROW_BYTES if pitch % _BAD_PITCH == 0 else pitch


def can_copy(spec: ConvSpec) -> bool:
    """Tell whether copies are useful, and may read a vector past a run.

    For long runs without strides they only avoid unused pixels.
    """
    _, _, width, channels = spec.staged_shape
    is_strided = spec.strides != (1, 1)
    is_plain = spec.runs == 1 and spec.pixel_pitch is not None
    of_use = not is_plain and (is_strided or spec.run_length < ROW_BYTES)
    return of_use and width * channels >= 2 * ROW_BYTES


def copy_all(spec: ConvSpec, pitch: int, source: Buffer, tasks: int) -> Buffer:
    """Write the loops that copy the data of every output pixel.

    Args:
        spec: the convolution.
        pitch: bytes from one copy to the next.
        source: the staged data as one row.
        tasks: how many tasks share the rows.

    Returns:
        A workspace buffer; the bytes between a copy and the next one are undefined.
    """
    copies = T.alloc_buffer((spec.out_pixels * pitch,), source.dtype, scope="global")
    _, _, _, channels = spec.staged_shape

    def row(number: Index) -> None:
        origin = first_byte(spec, number * spec.out_width)
        with T.serial(spec.out_width) as x:
            place = (number * spec.out_width + x) * pitch
            copy_pixel(spec, source, origin + x * (spec.strides[1] * channels), copies, place)

    shared_loop(tasks, spec.batch * spec.out_height, row)
    return copies


def copy_pixel(spec: ConvSpec, source: Buffer, origin: Index, target: Buffer, place: Index) -> None:
    """Write the copy of an output pixel's data, from its first byte on.

    A run of at most a vector is copied by one vector. A run shorter than a vector is copied so only
    before the last row: data follows it there, and the bytes written past it are overwritten.
    """
    taps, length = spec.runs_per_row, spec.run_length

    for ky in range(spec.kernel_height):
        for kx in range(taps):
            run = spec.run_start(ky, kx)
            start = place + (ky * taps + kx) * length

            def body(offset: Index, size: int, run: int = run, start: Index = start) -> None:
                value = source[ramp(origin + run + offset, size)]
                T.buffer_store(target, value, [ramp(start + offset, size)])

            if length < ROW_BYTES and ky < spec.kernel_height - 1:
                body(0, 1 << (length - 1).bit_length())
            else:
                for_each_piece(length, body)
