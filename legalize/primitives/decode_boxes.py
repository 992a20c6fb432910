"""decode_boxes in Relax primitives."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const
from legalize.primitives.registry import primitive
from qnn_ops.boxes import CORNERS, decode_boxes
from qnn_ops.registry import Attrs


@primitive(decode_boxes)
def _decode_boxes(
    builder: relax.BlockBuilder, attrs: Attrs, encodings: relax.Expr, anchors: relax.Expr
) -> relax.Expr:
    def columns(data: relax.Expr, first: int) -> relax.Expr:
        return R.astype(R.strided_slice(data, [1], [first], [first + CORNERS // 2]), "float64")

    def scales(*values: float) -> relax.Expr:
        return relax.const(np.array(values, np.float64), "float64")

    sizes = builder.emit(columns(anchors, 2))
    distances = R.divide(columns(encodings, 0), scales(attrs.y_scale, attrs.x_scale))
    # Bounded far outside float32, so that no compiler makes one fused multiply-add of the two.
    offsets = R.clip(R.multiply(distances, sizes), -1e300, 1e300)
    centres = R.add(offsets, columns(anchors, 0))
    growths = R.exp(R.divide(columns(encodings, 2), scales(attrs.h_scale, attrs.w_scale)))
    halves = R.multiply(R.multiply(const(0.5, "float64"), growths), sizes)
    centre = builder.emit(R.astype(centres, "float32"))
    half = builder.emit(R.astype(halves, "float32"))
    return R.concat([R.subtract(centre, half), R.add(centre, half)], axis=1)
