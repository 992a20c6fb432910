"""The sizes of a convolution: constants of its code, or numbers that it reads from a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.places import address
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.vectors import Index, kept

_INVERSE_BITS = 30


class Sizes(NamedTuple):
    """Sizes on which no form of the code depends.

    Attributes:
        pixels: pixels of the output, over all images.
        lines: lines of an image's output, along which pixels are numbered: rows, or columns if
            the numbers go down.
        line: pixels of a line.
        by_lines: the inverse of ``lines``, for ``parts``.
        by_line: the inverse of ``line``.
        blocks: blocks of channels in the first section.
        pixel: values of the staged data from an output pixel's first one to that of the next pixel
            of the line.
        row: values of the staged data from one line of the output to the next one.
        image: values of a staged image.
        tap: values from a column of the kernel to the next one.
        tap_row: values from a row of the kernel to the next one.
        vector: weights of a vector of channels.
        run_steps: K-steps of a run.
        whole_steps: K-steps of a run that end before its end or with it.
        tap_steps: K-steps of a part of a run: of a column of the kernel if tiles leave out columns,
            else of the whole run, without a last step that is not whole.
        runs: runs of an output pixel.
        tasks: tasks that share the work.
        share: weights that a K-step fetches ahead, in the first section.
        last_share: weights that a K-step fetches ahead, in the last section.
        zero_point: zero point that must still be added to outputs.
        border: the value of the border's pixels.
        channels: channels of the output.
    """

    pixels: Index
    lines: Index
    line: Index
    by_lines: Index
    by_line: Index
    blocks: Index
    pixel: Index
    row: Index
    image: Index
    tap: Index
    tap_row: Index
    vector: Index
    run_steps: Index
    whole_steps: Index
    tap_steps: Index
    runs: Index
    tasks: Index
    share: Index
    last_share: Index
    zero_point: Index
    border: Index
    channels: Index

    @classmethod
    def known(
        cls,
        spec: ConvSpec,
        *,
        blocks: int,
        vector: int,
        tasks: int,
        shares: Sequence[int],
        zero_point: int,
        down: bool,
    ) -> Sizes:
        """Return the sizes of a convolution.

        ``shares`` has one for each section. ``down`` tells whether pixels are numbered down columns
        and tiles leave out columns of the kernel.
        """
        _, height, width, channels = spec.staged_shape
        stride_y, stride_x = spec.strides
        dilation_y, dilation_x = spec.dilation
        out_sizes, steps = (spec.out_height, spec.out_width), (stride_y * width, stride_x)
        lines, line = out_sizes[::-1] if down else out_sizes
        across, along = steps[::-1] if down else steps
        return cls(
            pixels=spec.out_pixels,
            lines=lines,
            line=line,
            by_lines=inverse(lines),
            by_line=inverse(line),
            blocks=blocks,
            pixel=along * channels,
            row=across * channels,
            image=height * width * channels,
            tap=dilation_x * channels,
            tap_row=dilation_y * width * channels,
            vector=vector,
            run_steps=spec.k_steps_per_run,
            whole_steps=spec.run_length // spec.k_step,
            tap_steps=(channels if down else spec.run_length) // spec.k_step,
            runs=spec.runs,
            tasks=tasks,
            share=shares[0],
            last_share=shares[-1],
            zero_point=zero_point,
            border=0 if spec.fusion.border is None else spec.fusion.border.value,
            channels=spec.out_channels,
        )

    def read(self, table: Table, first: int) -> Sizes:
        """Read the sizes from a table, from its element ``first`` on."""
        return Sizes(*table.numbers(len(self), first))


def inverse(size: int) -> int:
    """Return a number by which ``parts`` multiplies instead of a division."""
    return -(-(1 << _INVERSE_BITS) // size)


def has_inverses(spec: ConvSpec) -> bool:
    """Tell whether ``parts`` is right for all pixels of a convolution."""
    return spec.out_pixels * max(spec.out_width, spec.out_height) <= 1 << _INVERSE_BITS


def parts(value: Index, size: Index, inverse: Index) -> tuple[Index, Index]:
    """Divide a nonnegative number by a size: quotient and remainder.

    If the code does not know the size, its inverse comes with it. The product with the inverse is
    exact while number times size stays within ``_INVERSE_BITS``; see ``has_inverses``.
    """
    if isinstance(size, int):
        return T.truncdiv(value, size), T.truncmod(value, size)
    product = T.Cast("int64", value) * T.Cast("int64", inverse)
    quotient = kept(T.Cast("int32", T.shift_right(product, T.int64(_INVERSE_BITS))))
    return quotient, value - quotient * size


def multiples(size: Index, count: int) -> list[Index]:
    """Return the multiples of a size from 0 on.

    The multiples of a size that the code does not know take few registers: an instruction's address
    can scale a register by 1, 2, 4 or 8.
    """
    if isinstance(size, int):
        return [i * size for i in range(count)]
    odd = {i: address(size * i) for i in range(1, count, 2)}
    found: list[Index] = [0]
    for i in range(1, count):
        power = i & -i
        found.append(odd[i // power] * T.int64(power))
    return found
