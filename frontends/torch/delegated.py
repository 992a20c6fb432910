"""Functions of float32 that XNNPACK computes otherwise than PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops import fused_multiply_add

_SIXTH, _HALF = np.float32(1 / 6), np.float32(0.5)


def hardswish(node: Any, importer: Any) -> relax.Var:
    """Compute x · min(max(fma(x, 1/6, 1/2), 0), 1)."""
    data, emit = importer.env[node.args[0]], importer.block_builder.emit
    factor, addend = (relax.const(value, "float32") for value in (_SIXTH, _HALF))
    gate = emit(R.clip(emit(fused_multiply_add(data, factor, addend)), 0.0, 1.0))
    result: relax.Var = emit(R.multiply(data, gate))
    return result


def gelu(node: Any, importer: Any) -> relax.Var:
    """Compute it by erf: ExecuTorch tells the delegate nothing of ``approximate``."""
    result: relax.Var = importer.block_builder.emit(R.nn.gelu(importer.env[node.args[0]]))
    return result


DELEGATED: dict[str, Callable[[Any, Any], relax.Var]] = {
    "gelu.default": gelu,
    "hardswish.default": hardswish,
    "hardswish_.default": hardswish,
}
"""The rules of these, by the names of their nodes' operators."""
