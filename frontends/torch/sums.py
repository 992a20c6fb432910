"""Sums and differences, of which the second operand may be multiplied."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.torch.reader import operator_of
from qnn_ops.registry import spec_of

_OF_TVM = {
    "add.Tensor": "add.Tensor",
    "add_.Tensor": "add.Tensor",
    "sub.Tensor": "sub.Tensor",
    "sub_.Tensor": "sub.Tensor",
}

SUMS = tuple(_OF_TVM)


def scaled_sum(node: Any, importer: Any) -> Any:
    """Add, or subtract, ``alpha`` times the second operand: TVM's importer leaves that out."""
    name, alpha = _OF_TVM[operator_of(node)], node.kwargs.get("alpha", 1)
    if alpha == 1:
        return type(importer).create_convert_map(importer)[name](node)
    operands = importer.retrieve_args(node)[:2]
    dtype = next(spec_of(each).dtype for each in operands if isinstance(each, relax.Expr))
    left, right = (
        each if isinstance(each, relax.Expr) else relax.const(np.asarray(each, dtype), dtype)
        for each in operands
    )
    emit = importer.block_builder.emit
    scaled = emit(R.multiply(right, relax.const(np.asarray(alpha, dtype), dtype)))
    return emit((R.add if name.startswith("add") else R.subtract)(left, scaled))
