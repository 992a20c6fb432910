"""Depthwise convolutions with Helium: sixteen channels at a time.

The rows that an output row reads are copied with their padding, each once. Products are added in 16
bits as far as they fit, and then widened.
"""

from collections.abc import Sequence

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.helium.epilogue import Fields
from legalize.kernels.conv2d.mcu.kernel import arguments
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.mcu.band import Band
from legalize.kernels.ir.vectors import Array, Index, Vector, get_lanes, kept, set_lanes, splat
from legalize.kernels.isa.helium import FOUR, SIZE, narrowed, products, widened
from legalize.kernels.isa.mcu import WORDS_CODE, importing
from legalize.written import new_function

# The channels, of sixteen, in each vector of four sums, in the order of the products.
_ORDER = [channel for first in (0, 2, 1, 3) for channel in range(first, SIZE, FOUR)]


def lanes_of(spec: ConvSpec) -> int | None:
    """Return how many channels are computed at a time: of one pixel or, if few, of several.

    None if the channels make no whole vector.
    """
    channels = spec.out_channels
    if channels >= SIZE:
        return SIZE
    fits = SIZE % channels == 0 and spec.strides[1] == 1
    return channels if fits and spec.out_width >= SIZE // channels else None


def _firsts(channels: int) -> list[int]:
    """Return the first channel of each vector; the last vector may repeat some channels."""
    return [min(first, max(channels - SIZE, 0)) for first in range(0, channels, SIZE)]


def packed(spec: ConvSpec, rows: Array, epilogue: Epilogue) -> tuple[Array, ...]:
    """Return weights, and the epilogue's constants, in the order in which a kernel reads them.

    Args:
        spec: the convolution.
        rows: int8 [channels, taps].
        epilogue: turns the sums into outputs.
    """
    channels = np.array(
        [(first + np.arange(SIZE)) % spec.out_channels for first in _firsts(spec.out_channels)]
    )
    taps = np.ascontiguousarray(rows[channels].transpose(0, 2, 1)).reshape(-1)
    fields = np.stack(epilogue.rows)[:, channels[:, _ORDER]].transpose(1, 0, 2)
    return taps, np.ascontiguousarray(fields).reshape(-1)


def depthwise_conv2d(
    spec: ConvSpec, epilogue: Epilogue, groups: Sequence[Sequence[int]]
) -> tirx.PrimFunc:
    """Build the function that convolves each channel by itself.

    Args:
        spec: the convolution, of int8 and without dilation; ``lanes_of`` gives its lanes.
        epilogue: turns the sums into outputs; its form is not wide.
        groups: groups of taps whose products are added in 16 bits.

    Returns:
        A function of the data; the arrays from ``packed``; and the output.
    """
    with new_function("depthwise_conv2d") as builder:
        writer = _Writer(spec, epilogue, groups)
        with importing(WORDS_CODE):
            writer.write()
    return builder.get()


class _Writer:
    def __init__(self, spec: ConvSpec, epilogue: Epilogue, groups: Sequence[Sequence[int]]) -> None:
        self.spec, self.epilogue, self.groups = spec, epilogue, groups
        self.taps = spec.kernel_height * spec.kernel_width
        self.count = len(_firsts(spec.out_channels))
        constants = (np.zeros(self.count * SIZE * len(epilogue.rows), np.int32),)
        self.data, self.weights, self.fields, self.output = arguments(
            spec, self.count * SIZE * self.taps, constants
        )
        self.band = Band(spec, self.data, SIZE)

    def write(self) -> None:
        spec = self.spec
        pixels = max(SIZE // spec.out_channels, 1)
        with T.serial(spec.batch) as image:
            self.band.fill()
            with T.serial(spec.out_height) as y:
                rows = self.band.read(image, y)
                with T.serial(-(-spec.out_width // pixels)) as turn:
                    # The last ones may be computed twice.
                    x = turn if pixels == 1 else kept(T.min(turn * pixels, spec.out_width - pixels))
                    pixel = kept((image * spec.out_height + y) * spec.out_width + x)
                    starts = [kept(row + x * spec.strides[1] * spec.in_channels) for row in rows]
                    with T.serial(self.count) as group:
                        first = kept(T.min(group * SIZE, max(spec.out_channels - SIZE, 0)))
                        self._vector(starts, pixel, group, first)

    def _vector(self, starts: Sequence[Index], pixel: Index, group: Index, first: Index) -> None:
        sums = [T.alloc_buffer((FOUR,), "int32", scope="global") for _ in range(FOUR)]
        for number, taps in enumerate(self.groups):
            halves = self._halves(starts, group, first, taps)
            for i, total in enumerate(sums):
                part = widened(halves[i // 2], odd=bool(i % 2))
                set_lanes(total, part if number == 0 else get_lanes(total) + part)
        values = []
        for i, total in enumerate(sums):
            fields = Fields(self.epilogue, self.fields, group, SIZE, i * FOUR)
            values.append(self._finished(fields, get_lanes(total)))
        halves = [narrowed(*values[:2]), narrowed(*values[2:])]
        value = self.epilogue.output.clamped(narrowed(*halves))
        start = pixel * self.spec.out_channels + first
        T.buffer_store(self.output, value, [T.ramp(start, 1, SIZE)])

    def _finished(self, fields: Fields, total: Vector) -> Vector:
        """Return outputs before they are clamped."""
        form = self.epilogue.form
        assert form is not None
        value = fields.scaled(fields.with_bias(kept(total)))
        return kept(T.shift_right(value, splat("int32", form.right, FOUR)))

    def _halves(
        self, starts: Sequence[Index], group: Index, first: Index, taps: Sequence[int]
    ) -> list[Vector]:
        """Return the sums of the products of some taps, for even and for odd channels."""
        spec, sums = self.spec, [T.alloc_buffer((8,), "int16", scope="global") for _ in range(2)]
        for number, tap in enumerate(taps):
            down, across = divmod(tap, spec.kernel_width)
            place = starts[down] + across * spec.in_channels + first
            values = kept(self.band.buffer[T.ramp(place, 1, SIZE)])
            weights = kept(self.weights[T.ramp((group * self.taps + tap) * SIZE, 1, SIZE)])
            for odd, total in enumerate(sums):
                product = products(values, weights, odd=bool(odd))
                set_lanes(total, product if number == 0 else get_lanes(total) + product)
        return [kept(get_lanes(total)) for total in sums]
