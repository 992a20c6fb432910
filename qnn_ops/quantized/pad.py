"""The padding of quantized tensors."""

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import Channels, Traits, always, moving
from qnn_ops.errors import QnnError


@operator(
    traits=Traits(
        zero_points={},
        moved=moving("pad_value"),
        keeps=always,
        clamps=False,
        channels=Channels.PAD_WIDTH,
    ),
    overflows=False,
)
def quantized_pad(
    quantized_data: declared.Activations, pad_width: declared.Ints, pad_value: declared.Int
) -> None:
    """Surround quantized data with a constant.

    Source: TFLite's PADV2, and PAD, whose constant is the zero point.

    Args:
        quantized_data: int8, uint8 or int16, any shape.
        pad_width: the number of values to add before and after each axis, as one flat list:
            before0, after0, before1, ...
        pad_value: the quantized value to add.

    Returns:
        A call whose result has the data's dtype, and its shape plus the padding.
    """


@quantized_pad.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    if len(attrs.pad_width) != 2 * len(data.shape):
        raise QnnError(
            f"pad_width must have 2 values for each of {len(data.shape)} axes, "
            f"got {len(attrs.pad_width)}"
        )
    if any(width < 0 for width in attrs.pad_width):
        raise QnnError(f"pad_width must not be negative, got {list(attrs.pad_width)}")
    low, high = dtype_range(data.dtype)
    if not low <= attrs.pad_value <= high:
        raise QnnError(f"pad_value must lie within {data.dtype}, got {attrs.pad_value}")
    shape = (
        size + before + after
        for size, (before, after) in zip(data.shape, _pairs(attrs), strict=True)
    )
    return TensorSpec(tuple(shape), data.dtype)


def _pairs(attrs: Attrs) -> list[tuple[int, int]]:
    """Return (before, after) of each axis."""
    return list(zip(attrs.pad_width[::2], attrs.pad_width[1::2], strict=True))


@quantized_pad.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    if not any(attrs.pad_width):
        return data
    return np.pad(data, _pairs(attrs), constant_values=attrs.pad_value)
