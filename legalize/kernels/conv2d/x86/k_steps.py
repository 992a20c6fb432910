"""The K-steps of a sum; each has as many staged values as an int32 lane holds."""

import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Array


def k_step_weights(spec: ConvSpec, kernel: Array) -> Array:
    """Cut weights into K-steps.

    Args:
        spec: the convolution.
        kernel: of shape [channels, KH, KW, staged_channels].

    Returns:
        Weights of shape [channels + 1, runs, K-steps of a run, spec.k_step]; the last channel is 0.
    """
    padded = np.pad(kernel, ((0, 1), (0, 0), (0, 0), (0, 0)))
    runs = padded.reshape(len(padded), spec.runs, spec.run_length)
    whole = spec.run_length // spec.k_step * spec.k_step
    rest = spec.run_length - whole
    last = np.pad(runs[..., whole:], ((0, 0), (0, 0), ((spec.k_step - rest) % spec.k_step, 0)))
    k_steps = np.concatenate([runs[..., :whole], last], axis=2)
    return k_steps.reshape(len(padded), spec.runs, spec.k_steps_per_run, spec.k_step)


def k_step_offsets(spec: ConvSpec) -> Array:
    """Compute each K-step's offset from a pixel's first byte: int64 [runs · K-steps of a run]."""
    runs = spec.run_start(*np.divmod(np.arange(spec.runs), spec.runs_per_row))
    within = np.minimum(
        np.arange(spec.k_steps_per_run) * spec.k_step, spec.run_length - spec.k_step
    )
    return np.asarray((runs[:, None] + within).reshape(-1))


def k_step_windows(spec: ConvSpec, size: int) -> Array:
    """Find windows of ``size`` K-steps with consecutive values: int64 [windows, size]."""
    windows = np.arange(spec.run_length // (spec.k_step * size)) * size
    first = np.arange(spec.runs)[:, None] * spec.k_steps_per_run + windows
    return np.asarray(first.reshape(-1, 1) + np.arange(size))
