"""Estimates how many instructions kernels take on microcontrollers."""

from collections.abc import Container, Sequence
from csv import reader
from importlib.resources import files
from itertools import islice
from math import prod

import tvm
from tvm import tirx

from legalize.kernels.call import SORTED_LAST
from legalize.kernels.isa.mcu import WORD
from legalize.kernels.kernel import IS_KERNEL

_CONVOLUTIONS = ("conv2d", "depthwise_conv2d", "depthwise_columns")

_VECTOR = 16  # bytes of Helium's registers


def _read() -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the figures of the file, by core and kernel."""
    takes: dict[str, dict[str, tuple[float, ...]]] = {}
    text = files("tvm_qnn.footprint").joinpath("instructions.csv").read_text("utf-8")
    for core, kernel, *figures in islice(reader(text.splitlines()), 1, None):
        takes.setdefault(core, {})[kernel] = tuple(map(float, figures))
    return takes


TAKES = _read()
"""The cost of a kernel's call in instructions, by core and kernel: for each product (also those of
zeros that fill registers), each output, each value that it reads or copies, and the call itself.
For a depthwise convolution the last is the cost for each channel of a row instead.

They fit the counts of `benchmarks.mcu_instructions --layers` for MLPerf Tiny's four networks: the
least squares of errors divided by the counts to the power of 0.6. The rows of convolutions are for
windows, for data of few channels (no whole words), for pixels, and for dense layers.
"""

# Cores with the same instructions and code as another.
_ALIKE = {"cortex-m33": "cortex-m4", "cortex-m85": "cortex-m55"}


def estimated_instructions(mod: tvm.IRModule, target: tvm.target.Target) -> dict[str, int]:
    """Estimate how many instructions a call of each kernel takes.

    Args:
        mod: the module with the kernels' functions, right after operators are lowered.
        target: the target.

    Returns:
        The estimates by the functions' names, for kernels that have figures; empty if the target is
        not a microcontroller.
    """
    triple = str(target.attrs.get("mtriple", ""))
    core = str(target.attrs.get("mcpu") or triple.partition("-")[0])
    # A core without these instructions uses other kernels than the table's.
    is_whole = not {"-dsp", "-mve"}.intersection(map(str, target.attrs.get("mattr") or ()))
    takes = TAKES.get(_ALIKE.get(core, core), {}) if is_whole else {}
    found: dict[str, int] = {}
    for variable, function in mod.functions_items() if takes else ():
        if not isinstance(function, tirx.PrimFunc) or IS_KERNEL not in function.attrs:
            continue
        name = str(variable.name_hint)
        kernel = name.removeprefix(SORTED_LAST).rstrip("0123456789")
        if kernel in takes or kernel in _CONVOLUTIONS:
            shapes = [[int(size) for size in buffer.shape] for buffer in function.params]
            row, counts = _work(kernel, shapes, takes)
            found[name] = round(sum(a * b for a, b in zip(takes[row], counts, strict=True)))
    return found


def _work(
    name: str, shapes: Sequence[Sequence[int]], takes: Container[str]
) -> tuple[str, tuple[int, ...]]:
    """Return a kernel's row in a table, and the counts that its figures are multiplied by.

    Args:
        name: the kernel's name.
        shapes: the shapes of its arguments: data, weights if it has any, others, output.
        takes: the table's rows.
    """
    data, output = shapes[0], shapes[-1]
    outputs = prod(output)
    if name not in _CONVOLUTIONS:
        return name, (0, outputs, prod(data), 1)
    (weights,) = shapes[1]
    channels = output[-1]
    pixels = outputs // channels
    if name != "conv2d":
        row = name.removeprefix("depthwise_").replace("conv2d", "depthwise")
        return row, (pixels * weights, outputs, prod(data), outputs // output[-2])
    # Helium's kernels fill the last four channels with zeros.
    together = -(-channels // WORD) * WORD if weights % channels else channels
    depth = weights // together
    if "columns" in takes:
        # Its loops add up whole vectors; the elements behind a row add nothing to the sum.
        depth = -(-depth // _VECTOR) * _VECTOR
        weights = depth * together
    reads_pixels = data[:-1] == output[:-1] and depth <= -(-data[-1] // _VECTOR) * _VECTOR
    if pixels == 1:
        row = "dense"
    elif data[-1] % WORD:
        row = "few"
    else:
        row = "pixel" if reads_pixels else "window"
    return row, (pixels * weights, outputs, pixels * depth, 1)
