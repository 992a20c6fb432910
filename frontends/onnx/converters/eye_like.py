"""EyeLike."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from frontends.onnx.package import onnx_package
from qnn_ops.registry import spec_of

_MOST = 1 << 24


@converter("EyeLike")
def _eye_like(
    _builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Give ones on a diagonal of a matrix of the data's shape."""
    (data,) = operands_of(operands, 1)
    shape, dtype = spec_of(data).shape, spec_of(data).dtype
    if stated := int(attributes.get("dtype", 0)):
        dtype = str(onnx_package().helper.tensor_dtype_to_np_dtype(stated))
    if len(shape) != 2 or np.prod(shape, dtype=np.int64) > _MOST:
        raise UnsupportedError(f"a matrix of shape {shape}")
    return relax.const(np.eye(*shape, k=int(attributes.get("k", 0)), dtype=dtype), dtype)
