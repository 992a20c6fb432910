"""TopK."""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import top_places
from qnn_ops.registry import constant_of, spec_of


@converter("TopK")
def _top_k(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Give the largest or smallest along an axis, and their places; the first of equals."""
    data, count = operands_of(operands, 2)
    known = None if count is None else constant_of(count)
    if known is None or known.size != 1:
        raise UnsupportedError("the number of elements must be constant")
    if not attributes.get("sorted", 1):
        raise UnsupportedError("elements in an order that is not told")
    emit, (shape, dtype) = builder.emit, (spec_of(data).shape, spec_of(data).dtype)
    axis, number = int(attributes.get("axis", -1)) % len(shape), int(known.item())
    if dtype != "float32" or not 0 < number <= shape[axis]:
        raise UnsupportedError(f"{number} of {shape[axis]} elements of {dtype}")
    order = [*(each for each in range(len(shape)) if each != axis), axis]
    outer = [shape[each] for each in order[:-1]]
    rows = emit(R.reshape(emit(R.permute_dims(data, order)), (prod(outer), shape[axis])))
    keys = rows if attributes.get("largest", 1) else emit(R.negative(rows))
    places = emit(top_places(keys, number))
    back = [order.index(each) for each in range(len(shape))]
    results = (R.gather_elements(rows, places, axis=1), R.astype(places, "int64"))
    return relax.Tuple(
        [
            emit(R.permute_dims(emit(R.reshape(emit(each), (*outer, number))), back))
            for each in results
        ]
    )
