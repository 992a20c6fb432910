"""Max and Min."""

from __future__ import annotations

from functools import reduce
from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.onnx.converters.registry import Operands, converter


@converter("Max")
def _max(builder: relax.BlockBuilder, operands: Operands, _: dict[str, Any]) -> relax.Expr:
    return reduce(lambda most, each: builder.emit(R.maximum(most, each)), operands)


@converter("Min")
def _min(builder: relax.BlockBuilder, operands: Operands, _: dict[str, Any]) -> relax.Expr:
    return reduce(lambda least, each: builder.emit(R.minimum(least, each)), operands)
