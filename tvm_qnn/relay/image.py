"""``relay.image``: resizes images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from tvm_qnn.relay import op
from tvm_qnn.relay.expr import clip, number, spec, typed


def resize2d(
    data: relax.Expr,
    size: Any,
    roi: Any = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> relax.Call:
    """Resize an image.

    Args:
        data: an image of floats or integers. Integer results are truncated, and cubic results
            of 8 or 16 bits are clamped.
        size: height and width, as numbers or a constant.
        roi: the part to use, with mode "tf_crop_and_resize": [top, left, bottom, right].
        layout: NCHW or NHWC.
        method: "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode: "half_pixel", "align_corners", "asymmetric",
            "pytorch_half_pixel", "tf_half_pixel_for_nn" or "tf_crop_and_resize".
        rounding_method: which pixel is nearest: "round", "floor" or "ceil"; default: "round" with
            "align_corners", otherwise "floor".
        cubic_alpha: the coefficient of cubic interpolation.
        cubic_exclude: whether cubic interpolation ignores pixels outside of the image.
        extrapolation_value: the value of pixels outside of ``roi``.
        out_dtype: default: the data's dtype.
    """
    given = spec("image.resize2d: data", data).dtype
    dtype = out_dtype or given
    if "float" in dtype and dtype != given:
        data, given = op.cast(data, dtype), dtype
    is_clamped = method == "cubic" and dtype in ("int8", "uint8", "int16", "uint16")
    if is_clamped:  # cubic weights may be negative
        data, given = op.cast(data, "float32"), "float32"
    if (rounding_method or coordinate_transformation_mode) in ("round", "align_corners"):
        rounding_method = "round_prefer_ceil"  # "round" rounds halves to even today
    sizes: Sequence[int] | int = number("image.resize2d: size", size)
    part = [float(end) for end in number("image.resize2d: roi", [0.0] * 4 if roi is None else roi)]
    modes = (layout, method, coordinate_transformation_mode, rounding_method)
    cubic = (cubic_alpha, cubic_exclude, extrapolation_value)
    result = typed(relax.op.image.resize2d(data, sizes, part, *modes, *cubic))
    if is_clamped:
        result = clip(result, np.iinfo(dtype).min, np.iinfo(dtype).max)
    return result if dtype == given else op.cast(result, dtype)
