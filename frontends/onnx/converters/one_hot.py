"""OneHot."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of

_MOST = 1 << 24


@converter("OneHot")
def _one_hot(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Compare indices with the numbers along a new axis, and choose between two values.

    An index below 0 counts from the end; one beyond either end is none of the numbers.
    """
    indices, depth, values = operands_of(operands, 3)
    known = constant_of(depth)
    if known is None or known.size != 1:
        raise UnsupportedError("the depth must be one constant number")
    count = int(known.item())
    shape, dtype = spec_of(indices).shape, spec_of(indices).dtype
    if count < 1 or count * int(np.prod(shape, dtype=np.int64)) > _MOST:
        raise UnsupportedError(f"the depth must be from 1 to what memory takes, got {count}")
    if dtype not in ("int32", "int64"):
        raise UnsupportedError(f"indices must be int32 or int64, got {dtype}")
    rank, axis = len(shape), int(attributes.get("axis", -1))
    if not -rank - 1 <= axis <= rank:
        raise UnsupportedError(f"the axis must be from {-rank - 1} to {rank}, got {axis}")
    if spec_of(values).shape != (2,):
        raise UnsupportedError(f"there must be 2 values, got a shape of {spec_of(values).shape}")
    axis %= rank + 1
    zero, size = (relax.const(np.asarray(number, dtype), dtype) for number in (0, count))
    from_end = builder.emit(R.add(indices, size))
    places = builder.emit(R.where(builder.emit(R.less(indices, zero)), from_end, indices))
    numbers = np.arange(count).astype(dtype).reshape([-1, *[1] * (rank - axis)])
    column = builder.emit(R.expand_dims(places, axis))
    is_it = builder.emit(R.equal(column, relax.const(numbers, dtype)))
    off, on = (
        builder.emit(R.reshape(builder.emit(R.strided_slice(values, [0], [n], [n + 1])), ()))
        for n in (0, 1)
    )
    return R.where(is_it, on, off)
