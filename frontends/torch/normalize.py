"""Normalization by stored statistics."""

from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.torch.call import CHECKS, OWN, Call
from frontends.torch.reader import values_of
from qnn_ops.dialect.registry import spec_of

BATCH_NORM = "batch_norm.default"


@OWN.of(BATCH_NORM)
def batch_norm(call: Call) -> relax.Expr:
    """Normalize by the stored statistics: TVM's importer uses the batch's statistics."""
    data, weight, bias, mean, variance, _, _, epsilon, _ = call.values
    data, mean, variance = map(call.expr, (data, mean, variance))
    channels = spec_of(mean).shape
    gamma, beta = (
        relax.const(np.full(channels, number, np.float32)) if part is None else call.expr(part)
        for part, number in ((weight, 1), (bias, 0))
    )
    options = {"axis": 1, "epsilon": float(epsilon), "training": False}
    made = relax.op.nn.batch_norm(data, gamma, beta, mean, variance, **options)
    return relax.TupleGetItem(call.emit(made), 0)


@CHECKS.of(BATCH_NORM)
def check_batch_norm(node: Any) -> None:
    """Raise unless a normalization uses stored statistics."""
    values = values_of(node)
    if values[5] or None in values[3:5]:
        raise UnsupportedError("it is in training mode: call eval() before torch.export.export")
