"""Estimates how many instructions kernels take on microcontrollers."""

from collections.abc import Container, Sequence
from math import prod

import tvm
from tvm import tirx

from legalize.kernels.call import SORTED_LAST
from legalize.kernels.isa.mcu import WORD
from legalize.kernels.kernel import IS_KERNEL

_CONVOLUTIONS = ("conv2d", "depthwise_conv2d", "depthwise_columns")

_VECTOR = 16  # bytes of Helium's registers

TAKES: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "cortex-m0plus": {
        "window": (6.86, 44.9, 2.9, 0),
        "few": (8.1, 0, 18.7, 0),
        "pixel": (6.53, 44.7, 8.52, 0),
        "dense": (5.8, 61, 0, 98.1),
        "depthwise": (13.2, 0, 1.37, 0),
        "add": (0, 18.4, 0, 0),
        "average": (0, 0, 4.09, 0),
        "softmax": (0, 90.4, 0, 384),
    },
    "cortex-m3": {
        "window": (2.92, 4.71, 0, 0),
        "few": (3.01, 0, 2.33, 0),
        "pixel": (2.62, 14.7, 2.32, 0),
        "dense": (2.44, 14.6, 0, 14),
        "depthwise": (6.8, 0, 5.95, 0),
        "add": (0, 9, 0, 0),
        "average": (0, 24, 4.97, 0),
        "softmax": (0, 38.3, 0, 75.5),
    },
    "cortex-m4": {
        "window": (0.901, 10.2, 2.92, 0),
        "few": (1.12, 0, 5.58, 0),
        "pixel": (0.819, 6.23, 6.97, 0),
        "dense": (1.14, 13.3, 0, 70.5),
        "depthwise": (3.78, 0, 1.33, 0),
        "add": (0, 9, 0, 0),
        "average": (0, 15.2, 1.49, 0),
        "softmax": (0, 38.4, 0, 75.4),
    },
    "cortex-m7": {
        "window": (0.875, 11.1, 2.81, 0),
        "few": (1.21, 0, 6.33, 0),
        "pixel": (0.828, 7.67, 6.29, 0),
        "dense": (1.15, 7.68, 0, 62.5),
        "depthwise": (5.07, 0, 2.07, 0),
        "add": (0, 9, 0, 0),
        "average": (0, 16.4, 1.56, 0),
        "softmax": (0, 38.3, 0, 76.6),
    },
    "cortex-m55": {
        "window": (0.13, 4.57, 0, 0),
        "few": (0.121, 3.8, 1.29, 0),
        "pixel": (0.123, 1.1, 1.46, 0),
        "dense": (0.14, 6.47, 0, 58.4),
        "columns": (0, 2.28, 1.25, 28.4),
        "depthwise": (0.839, 0, 0.35, 9.96),
        "add": (0, 2.25, 0, 0),
        "average": (0, 7.06, 0.514, 0),
        "softmax": (0, 37.1, 0, 63.8),
    },
    "riscv32": {
        "window": (3.17, 21.7, 1.82, 0),
        "few": (3.62, 0, 8.52, 0),
        "pixel": (3.24, 10.7, 1.53, 0),
        "dense": (3.43, 16.5, 0, 104),
        "depthwise": (6.11, 0, 7.54, 7.92),
        "add": (0, 16.6, 0, 0),
        "average": (0, 6.66, 2.36, 0),
        "softmax": (0, 34.1, 0, 76.7),
    },
}
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
