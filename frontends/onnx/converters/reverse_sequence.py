"""ReverseSequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of


@converter("ReverseSequence")
def _reverse_sequence(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Reverse the first so many steps along an axis, as many as each row of the batch says."""
    data, lengths = operands_of(operands, 2)
    emit, shape = builder.emit, spec_of(data).shape
    batch, along = int(attributes.get("batch_axis", 1)), int(attributes.get("time_axis", 0))
    if {batch, along} != {0, 1} or len(shape) < 2 or spec_of(lengths).shape != (shape[batch],):
        raise UnsupportedError(
            f"axes {batch} and {along} of {shape}, lengths of {spec_of(lengths).shape}"
        )
    known = constant_of(lengths)
    if known is not None and not 0 <= known.min(initial=0) <= known.max(initial=0) <= shape[along]:
        raise UnsupportedError(f"lengths beyond the {shape[along]} steps that there are")
    column = [1] * len(shape)
    column[batch] = shape[batch]
    steps = np.arange(shape[along]).reshape(
        [-1 if each == along else 1 for each in range(len(shape))]
    )
    number = relax.const(steps, "int64")
    zero, end = relax.const(0, "int64"), relax.const(shape[along], "int64")
    bounded = emit(R.minimum(emit(R.maximum(emit(R.astype(lengths, "int64")), zero)), end))
    count = emit(R.reshape(bounded, column))
    backwards = emit(R.subtract(emit(R.subtract(count, relax.const(1, "int64"))), number))
    places = emit(R.where(emit(R.less(number, count)), backwards, number))
    return R.gather_elements(data, emit(R.broadcast_to(places, shape)), axis=along)
