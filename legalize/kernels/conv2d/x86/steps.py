"""The steps of a sum, each of as many staged values as an int32 lane holds."""

from __future__ import annotations

import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.types import Array


def step_weights(spec: ConvSpec, kernel: Array) -> Array:
    """Cut weights into steps.

    Args:
        spec: the convolution.
        kernel: of shape [channels, KH, KW, staged_channels].

    Returns:
        Weights of shape [channels + 1, runs, steps of a run, spec.step]; the last ones are zero.
    """
    padded = np.pad(kernel, ((0, 1), (0, 0), (0, 0), (0, 0)))
    runs = padded.reshape(len(padded), spec.runs, spec.run_length)
    whole = spec.run_length // spec.step * spec.step
    rest = spec.run_length - whole
    last = np.pad(runs[..., whole:], ((0, 0), (0, 0), ((spec.step - rest) % spec.step, 0)))
    steps = np.concatenate([runs[..., :whole], last], axis=2)
    return steps.reshape(len(padded), spec.runs, spec.steps_per_run, spec.step)


def step_offsets(spec: ConvSpec) -> Array:
    """Compute each step's offset from a pixel's first byte: int64 [runs · steps of a run]."""
    _, _, width, channels = spec.staged_shape
    taps = spec.kernel_width // spec.taps_per_run
    ky, kx = np.divmod(np.arange(spec.runs), taps)
    runs = (ky * spec.dilation[0] * width + kx * spec.dilation[1]) * channels
    within = np.minimum(np.arange(spec.steps_per_run) * spec.step, spec.run_length - spec.step)
    return np.asarray((runs[:, None] + within).reshape(-1))


def step_windows(spec: ConvSpec, size: int) -> Array:
    """Find steps, ``size`` at a time, whose values follow one another: int64 [windows, size]."""
    windows = np.arange(spec.run_length // (spec.step * size)) * size
    first = np.arange(spec.runs)[:, None] * spec.steps_per_run + windows
    return np.asarray(first.reshape(-1, 1) + np.arange(size))
