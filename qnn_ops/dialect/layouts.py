"""Axis orders of activations and kernels, as strings of axis letters."""

DATA_LAYOUTS = ("NHWC", "NCHW")
KERNEL_LAYOUTS = ("OIHW", "OHWI", "HWIO", "IHWO", "HWOI")
"""OHWI: TFLite. IHWO: TFLite's depthwise kernels, with I = 1. OIHW: MXNet."""


def permutation(source: str, target: str) -> tuple[int, ...]:
    """Return the axes that bring a tensor from layout ``source`` to layout ``target``."""
    return tuple(source.index(letter) for letter in target)


def reorder(values: tuple[int, ...], source: str, target: str) -> tuple[int, ...]:
    """Return one value per axis, from the order of ``source`` to that of ``target``."""
    return tuple(values[axis] for axis in permutation(source, target))
