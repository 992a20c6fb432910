"""The layers whose loops are analyzed."""

from dataclasses import replace

from legalize.kernels.conv2d.spec import ConvSpec, OutputStage

LAYER = ConvSpec(
    1,
    28,
    28,
    192,
    1,
    1,
    192,
    in_dtype="int8",
    input_zero_point=-3,
    staged_dtype="int8",
    output=OutputStage("int8", 5, -128, 127),
)
"""A convolution of 1 × 1."""
LAYER_3X3 = replace(LAYER, kernel_height=3, kernel_width=3, padding=(1, 1, 1, 1))
"""The 3 × 3 variant, for a convolution or a depthwise convolution."""
