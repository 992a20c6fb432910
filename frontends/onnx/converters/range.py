"""Range."""

from __future__ import annotations

from typing import Any

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from frontends.onnx.ranges import range_of
from qnn_ops.registry import constant_of


@converter("Range")
def _range(
    _builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    start, limit, delta = (constant_of(each) for each in operands_of(operands, 3))
    if start is None or limit is None or delta is None:
        raise UnsupportedError(
            "how many numbers it has depends on the data, which values of inputs at import may tell"
        )
    numbers = range_of(start, limit, delta)
    return relax.const(numbers, str(numbers.dtype))
