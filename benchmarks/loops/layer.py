"""The layer whose loops are looked at."""

from __future__ import annotations

from dataclasses import replace

from legalize.kernels.conv2d.spec import ConvSpec

LAYER = ConvSpec(
    batch=1,
    in_height=28,
    in_width=28,
    in_channels=192,
    kernel_height=1,
    kernel_width=1,
    strides=(1, 1),
    padding=(0, 0, 0, 0),
    dilation=(1, 1),
    out_channels=192,
    in_dtype="int8",
    out_dtype="int8",
    input_zero_point=-3,
    output_zero_point=5,
    out_min=-128,
    out_max=127,
    rounding="tflite",
    kernel_dtype="int8",
    has_asymmetric_kernel=False,
    staged_dtype="int8",
)
"""A convolution of 1 × 1."""
LAYER_3X3 = replace(LAYER, kernel_height=3, kernel_width=3, padding=(1, 1, 1, 1))
"""Its neighbour, a convolution or a depthwise one."""
