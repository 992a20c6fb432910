"""A buffer of the padded rows of data that one output row of a depthwise convolution reads.

Each row is copied once. The next output row finds its shared rows where they are.
"""

from collections.abc import Callable

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.vectors import Buffer, Index, kept, splat
from legalize.kernels.isa.helium import SIZE, unseen


class Band:
    """A buffer of as many rows as the kernel has.

    Args:
        spec: the convolution, without dilation.
        data: the data, of one dimension.
        width: bytes that are copied at a time, if there are enough. If the channels are no multiple
            of it, the buffer is ``width`` bytes larger than its rows.
        size_of: turns a number into the extent of a loop.
    """

    def __init__(
        self,
        spec: ConvSpec,
        data: Buffer,
        width: int = 1,
        size_of: Callable[[int], Index] = T.int32,
    ) -> None:
        self.spec, self.data, self.width, self.size_of = spec, data, width, size_of
        self.stride = size_of(spec.strides[0])
        _, left, _, right = spec.padding
        self.pitch = (left + spec.in_width + right) * spec.in_channels
        size = spec.kernel_height * self.pitch + (width if spec.in_channels % width else 0)
        self.buffer = T.alloc_buffer((size,), spec.in_dtype)

    def fill(self) -> None:
        """Write the code that fills all rows with padding."""
        self._fill(0, self.spec.kernel_height * self.pitch)

    def read(self, image: Index, y: Index) -> list[Index]:
        """Write the code that copies the rows that no output row before ``y`` has read.

        Returns:
            The offset of each row of the window.
        """
        spec = self.spec
        with T.serial(spec.kernel_height) as n:
            is_new = T.Or(y == 0, n >= spec.kernel_height - self.stride)
            with T.If(is_new), T.Then():
                self._copy_row(image, kept(y * self.stride + n))
        return [
            kept((y * self.stride + n) % spec.kernel_height * self.pitch)
            for n in range(spec.kernel_height)
        ]

    def _copy_row(self, image: Index, number: Index) -> None:
        """Copy a row of the padded data, by its number, or fill it with padding."""
        spec = self.spec
        top, left, *_ = spec.padding
        row, length = kept(number - top), spec.in_width * spec.in_channels
        to = kept(number % spec.kernel_height * self.pitch + left * spec.in_channels)
        with T.If(T.And(row >= 0, row < spec.in_height)):
            with T.Then():
                start = kept((image * spec.in_height + row) * length)

                def copy(offset: Index, width: int) -> None:
                    value = self.data[ramp(start + offset, width)]
                    value = unseen(value) if width == SIZE else value
                    T.buffer_store(self.buffer, value, [ramp(to + offset, width)])

                self._each(length, copy)
            with T.Else():
                self._fill(to, length)

    def _fill(self, place: Index, count: int) -> None:
        def fill(offset: Index, width: int) -> None:
            value = splat(self.spec.in_dtype, self.spec.input_zero_point, width)
            T.buffer_store(self.buffer, value, [ramp(place + offset, width)])

        self._each(count, fill)

    def _each(self, count: int, write: Callable[[Index, int], None]) -> None:
        whole, rest = divmod(count, self.width)
        if whole:
            with T.serial(whole) as i:
                write(i * self.width, self.width)
        if rest and whole:
            write(count - self.width, self.width)
        elif rest:
            with T.serial(rest) as i:
                write(i, 1)
