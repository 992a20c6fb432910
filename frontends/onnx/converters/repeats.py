"""Tile and Expand."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of


@converter("Tile")
def _tile(
    _builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    data, repeats = operands_of(operands, 2)
    return R.tile(data, _numbers(repeats))


@converter("Expand")
def _expand(
    _builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    data, shape = operands_of(operands, 2)
    return R.broadcast_to(data, np.broadcast_shapes(spec_of(data).shape, tuple(_numbers(shape))))


def _numbers(expr: relax.Expr) -> list[int]:
    known = constant_of(expr)
    if known is None:
        raise UnsupportedError("its numbers must be constant")
    return [int(each) for each in known]
