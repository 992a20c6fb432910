"""Normalization by stored statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.torch.reader import values_of
from qnn_ops.dialect.registry import spec_of

BATCH_NORM = "batch_norm.default"


def batch_norm(node: Any, importer: Any) -> relax.Var:
    """Normalize by the stored statistics: TVM's importer uses the batch's statistics."""
    data, weight, bias, mean, variance, _, _, epsilon, _ = values_of(node)
    parts = [None if part is None else importer.env[part] for part in (weight, bias)]
    channels = spec_of(importer.env[mean]).shape
    gamma, beta = (
        relax.const(np.full(channels, number, np.float32)) if part is None else part
        for part, number in zip(parts, (1, 0), strict=True)
    )
    moments = [importer.env[each] for each in (mean, variance)]
    emit = importer.block_builder.emit
    call = relax.op.nn.batch_norm(
        importer.env[data], gamma, beta, *moments, axis=1, epsilon=float(epsilon), training=False
    )
    result: relax.Var = emit(relax.TupleGetItem(emit(call), 0))
    return result


def check_batch_norm(node: Any) -> None:
    """Raise unless a normalization uses stored statistics."""
    values = values_of(node)
    if values[5] or None in values[3:5]:
        raise UnsupportedError("it is in training mode: call eval() before torch.export.export")
