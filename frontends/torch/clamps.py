"""Bounds of values."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.torch.reader import operator_of, values_of
from qnn_ops.registry import spec_of

CLAMP = "clamp.default"

CLAMPING = (
    *("hardtanh.default", "hardtanh_.default", "relu.default", "relu_.default"),
    *("relu6.default", "relu6_.default"),
)
"""What XNNPACK makes a part of the operator before it."""


def clamp(node: Any, importer: Any) -> Any:
    """Bound values; TVM's importer takes infinity for a bound that integers have not."""
    data, *ends = values_of(node)
    tensor, emit = importer.env[data], importer.block_builder.emit
    dtype = spec_of(tensor).dtype
    if dtype.startswith("float"):
        return type(importer).create_convert_map(importer)[operator_of(node)](node)
    for end, bound in zip(ends, (R.maximum, R.minimum), strict=True):
        if end is not None:
            tensor = emit(bound(tensor, relax.const(np.asarray(end, dtype), dtype)))
    return tensor
