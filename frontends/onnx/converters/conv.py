"""Conv."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from frontends.onnx.converters.windows import window_of
from qnn_ops.registry import spec_of

_OPERATORS = {1: R.nn.conv1d, 2: R.nn.conv2d, 3: R.nn.conv3d}


@converter("Conv")
def _conv(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, weights, bias = operands_of(operands, 3)
    image, kernel = spec_of(data).shape[2:], spec_of(weights).shape[2:]
    rank = len(kernel)
    if rank not in _OPERATORS or len(image) != rank:
        raise UnsupportedError("its window must have one to three dimensions")
    window = window_of(attributes, image, kernel)
    result = _OPERATORS[rank](
        data,
        weights,
        strides=window.strides,
        padding=window.padding,
        dilation=window.dilations,
        groups=int(attributes.get("group", 1)),
    )
    if bias is None:
        return result
    return R.add(builder.emit(result), R.reshape(bias, (1, -1, *[1] * rank)))
