"""What becomes of the sums of a convolution or a dense layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from qnn_ops.float_stage import ROUNDING, stage_reference
from qnn_ops.registry import Attrs
from qnn_ops.rounding import scale_down

Array = np.ndarray[Any, Any]


def result_of_sums(
    attrs: Attrs,
    sums: Array,
    bias: Array | None,
    multiplier: Array,
    addend: Array | None = None,
) -> Array:
    """Compute an operator's result from its sums of products, by its ``rounding``.

    Args:
        attrs: of the call.
        sums: integers, channels last, without the bias; they wrap modulo 2^32.
        bias: int32, one per channel, or None.
        multiplier: how many steps of the result a step of the sum is, or one per channel; not
            used for int32 results, which are the sums.
        addend: for rounding "onednn", shaped as the sums.
    """
    if attrs.rounding == ROUNDING:
        return stage_reference(attrs, sums.astype(np.int32), bias, multiplier, addend)
    accumulator = (sums if bias is None else sums + bias).astype(np.int32)
    bounds = (attrs.out_min, attrs.out_max)
    if attrs.out_dtype == "int32":
        return np.clip(accumulator, *bounds)
    return scale_down(
        accumulator,
        multiplier,
        attrs.rounding,
        attrs.output_zero_point,
        bounds,
        attrs.out_dtype,
    )
